"""Rules and targets of alerts as declarations."""

from __future__ import annotations

import pytest

from broker.alerts.kinds import KINDS, TARGET
from broker.bridges import secrets
from broker.declarations import apply, export, plan, read
from broker.errors.alerts import InvalidAlert, NoSuchAlert
from broker.models import AlertRule, AlertTarget, AuditRecord

pytestmark = pytest.mark.django_db
DOCUMENT = """\
[alert_targets.ops]
kind = "webhook"
address = "https://example.org/alerts"
quiet_from = "22:00"
quiet_until = "07:00"

[alert_rules.deep]
condition = "depth"
threshold = 500
for = "5 min"
targets = ["ops"]
"""
SECRET = "whsec_" + "c2VjcmV0" * 4
WITH_SECRET = DOCUMENT.replace("address", f'secret = "{SECRET}"\naddress')


def make(text: str) -> list[str]:
    """Apply a document, and return its changes."""
    wanted = plan(read(text, KINDS)[0])
    apply(wanted)
    return [str(one) for one in wanted.changes]


def test_rules_and_targets_are_made_as_declared_once_and_written_again() -> None:
    AlertRule.objects.all().delete()

    first, again = make(WITH_SECRET), make(WITH_SECRET)

    assert (first, again) == (["create alert_target ops", "create alert_rule deep"], [])
    assert export(KINDS) == DOCUMENT
    target = AlertTarget.objects.get()
    assert secrets.decrypt(target.secret, factory="ops") == SECRET
    assert TARGET.describe(target)["has_secret"] is True
    assert SECRET not in "".join(one.detail for one in AuditRecord.objects.all())
    assert AlertRule.objects.get(name="deep").for_s == 300


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        (DOCUMENT, InvalidAlert, "secret: Give the secret"),
        (WITH_SECRET.replace('["ops"]', '["none"]'), NoSuchAlert, "none"),
        (WITH_SECRET.replace('"22:00"', '"night"'), InvalidAlert, "quiet_from"),
        (WITH_SECRET.replace('"07:00"', '""'), InvalidAlert, "ends of the quiet"),
        ("[alert_rules.deep]\nthreshold = 5\n", InvalidAlert, "condition"),
    ],
)
def test_what_is_wrong_is_refused_whole(
    text: str, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        make(text)
    assert not AlertTarget.objects.exists()


def test_a_secret_is_not_removed_where_it_is_needed() -> None:
    make(WITH_SECRET)
    with pytest.raises(InvalidAlert, match="secret"):
        make('[alert_targets.ops]\nunset = ["secret"]\n')
