"""Rules find problems, and alerts follow them."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from broker.alerts.editing import faults_of_rule
from broker.alerts.evaluation import evaluate, forget_old
from broker.alerts.names import DEAD, QUEUE, ensure_queue
from broker.models import (
    Alert,
    AlertRule,
    Approval,
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    Link,
    LinkState,
    LinkStatus,
    Operation,
    Queue,
    Stoppage,
)
from broker.monitoring import disk
from broker.monitoring.disk import Disk
from broker.queueing.put import put_many
from tests.broker.alerts.making import Condition, empty, make_alert_rule, make_firing
from tests.broker.dying import back_out, make_dead_letters, operator
from tests.make import NOON, make_messages, make_queue, minutes

State = Alert.State
pytestmark = pytest.mark.usefixtures("no_rules")


def states() -> list[str]:
    return list(Alert.objects.order_by("pk").values_list("state", flat=True))


def test_an_alert_is_pending_then_fires_then_is_resolved() -> None:
    make_queue("orders")
    make_alert_rule(threshold=3, for_s=600)
    put_many(make_messages(3), now=NOON)

    evaluate(now=NOON)
    evaluate(now=NOON + minutes(9))
    assert states() == [State.PENDING]

    evaluate(now=NOON + minutes(10))
    alert = Alert.objects.get()
    assert (alert.state, alert.fired_at) == (State.FIRING, NOON + minutes(10))
    assert alert.text == "orders: 3 messages on the queue."

    empty()
    evaluate(now=NOON + minutes(10.5))
    assert states() == [State.FIRING]  # it may come back within a minute

    evaluate(now=NOON + minutes(11))
    alert.refresh_from_db()
    assert (alert.state, alert.is_settled) == (State.RESOLVED, True)
    assert [one.kind for one in alert.events.all()] == ["fired", "resolved"]


def test_what_does_not_hold_long_enough_leaves_nothing() -> None:
    make_queue("orders")
    make_alert_rule(for_s=600)
    put_many(make_messages(1), now=NOON)
    evaluate(now=NOON)
    empty()

    evaluate(now=NOON + minutes(1))

    assert states() == []


def test_a_problem_that_comes_back_is_a_new_alert() -> None:
    make_firing()
    empty()
    evaluate(now=NOON + minutes(2))
    put_many(make_messages(1), now=NOON)

    evaluate(now=NOON + minutes(3))

    assert states() == [State.RESOLVED, State.FIRING]


def deep() -> None:
    put_many(make_messages(2), now=NOON)


def stopped() -> None:
    queue = Queue.objects.get(name="orders")
    Stoppage.objects.create(queue=queue, message_id=1, reason=2085, why="no queue")


def dead_letters() -> None:
    make_dead_letters(2)


def failed_link() -> None:
    bridge = Bridge.objects.create(name="b")
    factory = ConnectionFactory.objects.create(bridge=bridge, name="f", provider="here")
    end = BridgeDestination.objects.create(bridge=bridge, ref_name="e", name="orders")
    link = Link.objects.create(
        bridge=bridge, name="l", source_factory=factory, source=end,
        target_factory=factory, target=end,
    )  # fmt: skip
    LinkStatus.objects.create(
        link=link, state=LinkState.STOPPED, wanted=LinkState.STARTED, error="refused"
    )


def approval() -> None:
    plan = Operation.objects.create(kind="resubmit", scope="all", created_by=operator())
    Approval.objects.create(operation=plan, expires_at=NOON + minutes(60))


@pytest.mark.parametrize(
    ("condition", "threshold", "happens", "subject"),
    [
        (Condition.DEPTH, 2, deep, "orders"),
        (Condition.AGE, 60, deep, "orders"),
        (Condition.NOT_CONSUMED, 0, deep, "orders"),
        (Condition.STOPPED, 0, stopped, "orders"),
        (Condition.DEAD_LETTERS, 2, dead_letters, "DLQ"),
        (Condition.GROWTH, 2, dead_letters, "orders → DLQ "),
        (Condition.NEW_CAUSE, 0, dead_letters, "orders → DLQ "),
        (Condition.LINK, 0, failed_link, "b/l"),
        (Condition.APPROVAL, 0, approval, "operation "),
        (Condition.DISK, 90, lambda: None, "/disk"),
    ],
)
def test_each_condition_finds_its_problem_and_nothing_else(
    condition: Condition,
    threshold: int,
    happens: Callable[[], None],
    subject: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_queue("orders")
    free = [50]
    monkeypatch.setattr(disk, "look", lambda: Disk("/disk", 100, free[0]))
    make_alert_rule(condition, threshold=threshold, within_s=3600)
    evaluate(now=NOON + minutes(2))
    assert states() == []

    happens()
    free[0] = 9
    evaluate(now=NOON + minutes(2))

    alert = Alert.objects.get()
    assert (alert.state, alert.condition) == (State.FIRING, condition)
    assert alert.subject.startswith(subject)


@pytest.mark.parametrize("condition", [Condition.GROWTH, Condition.NEW_CAUSE])
def test_dead_letters_of_a_known_cause_are_no_new_ones(condition: Condition) -> None:
    make_dead_letters(1)
    make_alert_rule(condition, threshold=1, within_s=600)

    evaluate(now=NOON + minutes(11))

    assert states() == []


def test_a_consumer_that_takes_messages_is_no_problem() -> None:
    make_queue("orders")
    make_alert_rule(Condition.NOT_CONSUMED, threshold=0, for_s=300)
    put_many(make_messages(5), now=NOON)
    evaluate(now=NOON)
    back_out()  # between the evaluations it took one, and gave it back
    evaluate(now=NOON + minutes(5))
    assert states() == [State.PENDING]

    evaluate(now=NOON + minutes(10))

    assert states() == [State.FIRING]


def test_rules_do_not_look_at_the_queues_of_notifications() -> None:
    ensure_queue()
    put_many(make_messages(1, QUEUE), now=NOON)
    put_many(make_messages(1, DEAD), now=NOON)
    for condition in (Condition.DEPTH, Condition.DEAD_LETTERS, Condition.AGE):
        make_alert_rule(condition, name=condition)

    evaluate(now=NOON + minutes(60))

    assert states() == []


def test_alerts_of_a_rule_that_is_disabled_are_resolved() -> None:
    make_firing()
    AlertRule.objects.update(enabled=False)

    evaluate(now=NOON)

    assert states() == [State.RESOLVED]


def test_an_evaluation_without_changes_writes_nothing(
    django_assert_max_num_queries: Callable[..., object],
) -> None:
    make_firing()

    with django_assert_max_num_queries(12):  # type: ignore[attr-defined]
        evaluate(now=NOON + minutes(0.1))

    assert Alert.objects.get().last_seen_at == NOON


def test_old_alerts_are_forgotten() -> None:
    make_firing()
    empty()
    evaluate(now=NOON + minutes(2))

    assert forget_old(limit=10, days=1, now=NOON + minutes(3)) == 0
    assert forget_old(limit=10, days=1, now=NOON + minutes(60 * 25)) == 1
    assert states() == []


def test_the_first_rules_are_valid() -> None:
    first = importlib.import_module("broker.migrations.0008_alerts").FIRST
    for name, condition, threshold, within_s, for_s, severity in first:
        rule = AlertRule(
            name=name, condition=condition, threshold=threshold, within_s=within_s,
            for_s=for_s, severity=severity,
        )  # fmt: skip
        rule.full_clean()
        assert list(faults_of_rule(rule)) == []
