"""Redaction rules as declarations."""

from __future__ import annotations

import pytest

from broker.declarations import apply, export, plan, read
from broker.declarations.kinds import REDACTION
from broker.errors.settings import WrongSettings
from broker.models import RedactionRule

pytestmark = pytest.mark.django_db
DOCUMENT = """\
[redaction_rules.PII-3]
queues = "orders.#"
kind = "hl7"
target = "PID-5"
"""


def make(text: str) -> list[str]:
    """Apply a document, and return its changes."""
    wanted = plan(read(text)[0])
    apply(wanted)
    return [str(one) for one in wanted.changes]


def test_a_rule_is_made_as_declared_once_and_written_again() -> None:
    assert make(DOCUMENT) == ["create redaction_rule PII-3"]
    assert make(DOCUMENT) == []
    assert export([REDACTION]) == DOCUMENT
    assert RedactionRule.objects.get().revision == 1


def test_a_change_is_a_new_revision() -> None:
    make(DOCUMENT)

    make("[redaction_rules.PII-3]\nis_active = false\n")

    rule = RedactionRule.objects.get()
    assert (rule.revision, rule.is_active, rule.target) == (2, False, "PID-5")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (DOCUMENT.replace("PID-5", "PID"), "target: A field is written PID-5"),
        (DOCUMENT.replace('target = "PID-5"\n', ""), "target: .*blank"),
        (DOCUMENT.replace('kind = "hl7"\n', ""), "kind: .*null"),
        (DOCUMENT.replace("orders.#", "#.orders"), "queues: # can only be the last"),
        (DOCUMENT.replace("PII-3", '"PII 3"'), "name: Give a name of letters"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(WrongSettings, match=f"(?i){why}"):
        make(text)
    assert not RedactionRule.objects.exists()
