"""Recurring messages as declarations."""

from __future__ import annotations

import pytest

from broker.declarations import apply, export, plan, read
from broker.declarations.kinds import RECURRING
from broker.errors.settings import WrongSettings
from broker.models import RecurringMessage

pytestmark = pytest.mark.django_db
DOCUMENT = """\
[recurring_messages.digest]
address = "orders"
body = "one\\ttwo"
properties = {tags = ["a", {b = 1.5}], tenant = "t7"}
crontab = "0 6 * * 1-5"
time_zone = "Europe/Berlin"
"""


def make(text: str) -> list[str]:
    """Apply a document, and return its changes."""
    wanted = plan(read(text)[0])
    apply(wanted)
    return [str(one) for one in wanted.changes]


def test_one_is_made_as_declared_once_and_written_again() -> None:
    assert make(DOCUMENT) == ["create recurring_message digest"]
    due = RecurringMessage.objects.get().next_at
    assert make(DOCUMENT) == []
    assert export([RECURRING]) == DOCUMENT
    assert RecurringMessage.objects.get().next_at == due


def test_another_rule_takes_the_place_of_the_one_before() -> None:
    make(DOCUMENT)
    before = RecurringMessage.objects.get().next_at

    make('[recurring_messages.digest]\nevery = "5 min"\nunset = ["crontab"]\n')

    one = RecurringMessage.objects.get()
    assert (one.every_s, one.crontab) == (300, "")
    assert one.next_at != before


def test_properties_with_null_are_written_as_json() -> None:
    make(DOCUMENT)
    RecurringMessage.objects.update(properties={"a": [None], "ü": "'"})

    text = export([RECURRING])

    assert 'properties = "{\\"a\\": [null], \\"ü\\": \\"\'\\"}"' in text
    assert make(text) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (DOCUMENT + "every_s = 5\n", "either a crontab line or an interval"),
        (DOCUMENT.replace("0 6", "6 o'clock"), "crontab: .* is no crontab line"),
        (DOCUMENT.replace("Berlin", "Mars"), "time_zone: There is no time zone"),
        (DOCUMENT.replace('address = "orders"\n', ""), "address: .*blank"),
        (DOCUMENT.replace('"t7"', "2026-05-01"), "properties: This is no JSON"),
        (DOCUMENT.replace('"t7"', "nan"), "properties: This is no JSON"),
        (DOCUMENT.replace('"t7"', '"\\u0000"'), "properties: It has the character NUL"),
        (DOCUMENT.replace("two", "\\u0000"), "body: It has the character NUL"),
        (
            DOCUMENT.replace("= {tags", "= '{tags").replace('"t7"}', '"t7"}\''),
            "is no JSON",
        ),
    ],
)
def test_what_cannot_recur_is_refused(text: str, why: str) -> None:
    with pytest.raises(WrongSettings, match=f"(?i){why}"):
        make(text)
    assert not RecurringMessage.objects.exists()
