"""Who is told what, and when: grouping, repeats, escalation, quiet hours, silences."""

from __future__ import annotations

from datetime import time, timedelta

import pytest

from broker.alerts import acts
from broker.alerts.channels.wording import headline, lines
from broker.alerts.evaluation import evaluate
from broker.alerts.owed import is_quiet
from broker.errors.alerts import InvalidAlert
from broker.models import Alert, AlertTarget, AuditRecord
from broker.queueing.put import put_many
from tests.broker.alerts.making import (
    Condition,
    at,
    empty,
    make_alert_rule,
    make_firing,
    make_target,
    notifications,
    told,
)
from tests.broker.dying import make_dead_letters, operator
from tests.make import NOON, make_messages, make_queue, minutes

pytestmark = pytest.mark.usefixtures("no_rules")
HOUR = timedelta(hours=1)


def test_a_target_is_told_that_it_fires_again_and_that_it_is_over() -> None:
    make_firing(make_target(), repeat_s=3600)

    assert told() == [("hook", "firing", 1)]
    assert at(59) == []
    assert at(60) == [("hook", "firing", 1)]
    empty()
    assert at(62) == [("hook", "resolved", 1)]
    assert at(180) == []


def test_a_storm_is_one_notification_a_minute() -> None:
    make_alert_rule(Condition.DEPTH, make_target())
    make_queue("q0")
    put_many(make_messages(1, "q0"), now=NOON)
    assert at(0) == [("hook", "firing", 1)]
    for number in range(1, 50):
        make_queue(f"q{number}")
        put_many(make_messages(1, f"q{number}"), now=NOON)

    assert at(0.1) == []
    assert at(0.9) == []
    assert at(1.1) == [("hook", "firing", 49)]


def test_all_rules_that_ring_are_one_notification_by_cause() -> None:
    mail = make_target("mail", "email", secret="", address="ops@example.org")
    for name in ("a", "b"):
        make_queue(name)
        put_many(make_messages(2, name), now=NOON - HOUR)
    make_alert_rule(Condition.DEPTH, mail)
    make_alert_rule(
        Condition.AGE,
        mail,
        name="old",
        threshold=60,
        queues="b",
        severity="critical",
    )

    assert at(0) == [("mail", "firing", 3)]

    (said,) = notifications()
    assert [(one["cause"], one["rule"]) for one in said["alerts"]] == [
        ("b", "old"),
        ("b", "deep"),
        ("a", "deep"),
    ]
    assert (said["severity"], said["causes"]) == ("critical", 2)
    first = "b: the oldest message has waited 1 h."
    assert (
        headline(said) == f"[BACKOUT] critical firing: 2 problems, the first: {first}"
    )
    assert list(lines(said)) == [
        *(first, "Rules: old, deep"),
        *("a: 2 messages on the queue.", "Rule: deep"),
    ]


def test_people_get_a_digest_of_what_is_not_critical() -> None:
    mail = make_target("mail", "email", secret="", address="ops@example.org")
    make_firing(mail)
    for name in ("a", "b"):
        make_queue(name)
    put_many(make_messages(1, "a"), now=NOON)
    assert told() == [("mail", "firing", 1)]
    assert at(2) == []
    put_many(make_messages(1, "b"), now=NOON)

    assert at(9.9) == []
    assert at(10) == [("mail", "firing", 2)]


def test_a_critical_alert_waits_a_minute_at_most_and_takes_the_others_along() -> None:
    mail = make_target("mail", "email", secret="", address="ops@example.org")
    make_firing(mail)
    make_alert_rule(
        Condition.DEPTH, mail, name="worse", queues="b", severity="critical"
    )
    for name in ("a", "b"):
        make_queue(name)
    put_many(make_messages(1, "a"), now=NOON)
    assert at(2) == []

    put_many(make_messages(1, "b"), now=NOON)

    assert at(2.5) == [("mail", "firing", 3)]  # of b, two rules ring


def test_each_alert_is_an_incident_of_pagerduty() -> None:
    pager = make_target("pager", "pagerduty", secret="key")
    make_alert_rule(Condition.DEPTH, pager)
    for name in ("a", "b"):
        make_queue(name)
        put_many(make_messages(1, name), now=NOON)

    assert at(0) == [("pager", "firing", 1)] * 2


def test_an_alert_that_nobody_acknowledges_is_escalated() -> None:
    boss = make_target("boss")
    make_firing(make_target(), escalate_to=boss, escalate_after_s=900)

    assert at(14) == []
    assert at(15) == [("boss", "firing", 1)]


def test_what_is_acknowledged_is_neither_escalated_nor_repeated() -> None:
    mail = make_target("mail", "email", secret="", address="ops@example.org")
    rest = {"escalate_to": make_target("boss"), "repeat_s": 60}
    alert = make_firing(make_target(), mail, **rest)
    user = operator()

    acts.acknowledge([alert.pk], by=user, reason="on it", now=NOON)

    assert told()[2:] == [("hook", "acknowledged", 1)]  # no mail about that
    assert at(60) == []
    alert.refresh_from_db()
    assert (alert.state, alert.acknowledged_by) == ("acknowledged", "omar")
    assert AuditRecord.objects.get(act="alert.acknowledge").reason == "on it"
    assert acts.acknowledge([alert.pk], by=user) == []  # somebody has already
    empty()
    assert set(at(62)) == {("hook", "resolved", 1), ("mail", "resolved", 1)}


@pytest.mark.parametrize(
    ("begins", "ends", "zone", "hour", "quiet"),
    [  # noon in March is 13:00 in Berlin
        (time(22), time(7), "UTC", 22, True),
        (time(22), time(7), "UTC", 6.9, True),
        (time(22), time(7), "UTC", 7, False),
        (time(12), time(14), "UTC", 13, True),
        (time(12), time(14), "UTC", 14, False),
        (time(13), time(14), "Europe/Berlin", 12, True),
        (time(13), time(14), "Europe/Berlin", 13, False),
        (time(8), time(8), "UTC", 3, True),
        (None, None, "UTC", 3, False),
    ],
)
def test_quiet_hours(
    begins: time | None, ends: time | None, zone: str, hour: float, quiet: bool
) -> None:
    target = AlertTarget(quiet_from=begins, quiet_until=ends, zone=zone)

    assert is_quiet(target, NOON + timedelta(hours=hour - 12)) == quiet


def test_what_still_fires_at_the_end_of_quiet_hours_is_told_then() -> None:
    make_firing(make_target(quiet_from=time(11), quiet_until=time(13)))

    assert told() == []
    assert at(59) == []
    assert at(60) == [("hook", "firing", 1)]


@pytest.mark.parametrize("passes", [True, False])
def test_critical_alerts_may_pass_quiet_hours(passes: bool) -> None:
    make_firing(
        make_target(critical_passes=passes, quiet_from=time(11), quiet_until=time(13)),
        severity="critical",
    )

    assert told() == [("hook", "firing", 1)] * passes


@pytest.mark.parametrize(
    ("scope", "holds"),
    [
        ({"queues": "orders"}, True),
        ({"queues": "#"}, True),
        ({"queues": "other"}, False),
        ({"fingerprint": "abc"}, False),
        ({"rule": True}, True),
        ({"rule": True, "queues": "other"}, False),
    ],
)
def test_a_silence_holds_back_what_it_matches_until_it_ends(
    scope: dict[str, object], holds: bool
) -> None:
    rule = make_alert_rule(Condition.DEPTH, make_target())
    scope = scope | ({"rule": rule} if "rule" in scope else {})
    acts.silence(NOON + HOUR, by=operator(), now=NOON, **scope)  # type: ignore[arg-type]
    make_queue("orders")
    put_many(make_messages(1), now=NOON)

    assert at(1) == ([] if holds else [("hook", "firing", 1)])
    assert at(60) == ([("hook", "firing", 1)] if holds else [])


def test_a_cause_is_silenced_and_told_of_again() -> None:
    make_dead_letters(1)
    make_alert_rule(Condition.NEW_CAUSE, make_target(), threshold=0)
    evaluate(now=NOON)
    cause = Alert.objects.get().fingerprint
    Alert.objects.all().delete()
    silence = acts.silence(NOON + HOUR, fingerprint=cause, by=operator(), now=NOON)
    before = len(told())
    assert at(1) == []

    acts.end_silence(silence.pk, by=operator(), now=NOON + minutes(2))

    assert at(3) == [("hook", "firing", 1)]
    story = [one.kind for one in Alert.objects.get().events.all()]
    assert story == ["fired", "unsilenced", "notified"]
    assert len(told()) == before + 1


@pytest.mark.parametrize(
    ("lasts", "scope"),
    [
        (HOUR, {}),
        (timedelta(0), {"queues": "orders"}),
        (timedelta(days=31), {"queues": "orders"}),
        (HOUR, {"queues": "a.#.b"}),
        (HOUR, {"fingerprint": "no cause"}),  # no page could have it in its address
    ],
)
def test_a_silence_says_of_what_and_is_not_for_ever(
    lasts: timedelta, scope: dict[str, str]
) -> None:
    with pytest.raises(InvalidAlert):
        acts.silence(NOON + lasts, by=operator(), now=NOON, **scope)  # type: ignore[arg-type]
