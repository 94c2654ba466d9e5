"""Passes: what rules do with the dead letters that lie there."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from broker import operations
from broker.formats.error_fingerprint import fingerprint
from broker.models import (
    Discarded,
    Message,
    Operation,
    Queue,
    RuleAttempt,
    RulePass,
    RuleTable,
)
from broker.monitoring import fsck
from broker.operations import rules
from broker.operations.rules import Mode
from broker.tasks import apply_dead_letter_rules
from tests.broker.dying import back_out, make_dead_letters, on, plan
from tests.make import NOON, make_queue, make_user, minutes, seconds

AFTER = NOON + minutes(10)
BOQ = "payments.BOQ"


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada")


def write(
    text: str, user: User, *, queue: str = "DLQ", mode: Mode = Mode.ACTIVE
) -> RuleTable:
    rules.save(queue, text, user, now=NOON)
    return rules.switch(queue, mode, user, now=NOON)


def run(table: RuleTable, after_s: float = 0, **more: Any) -> list[dict[str, Any]]:
    """One pass; what it says it did."""
    before = set(RulePass.objects.values_list("pk", flat=True))
    rules.run(table.pk, now=AFTER + seconds(after_s), **more)
    passes = RulePass.objects.exclude(pk__in=before)
    return [deed for one in passes for deed in one.deeds]


def test_retry_sends_letters_back_as_an_operation(ada: User) -> None:
    make_dead_letters(3)
    table = write("DESTQ('orders') ACTION(RETRY) RETRY(5)", ada)

    (deed,) = run(table)

    operation = Operation.objects.get()
    assert len(on("orders")) == 3
    assert on("DLQ") == []
    assert (deed["done"], deed["failed"], deed["to"]) == (3, 0, "orders")
    assert deed["operation"] == operation.pk
    assert (operation.kind, operation.created_by) == (Operation.Kind.RESUBMIT, ada)
    assert operation.state == Operation.State.DONE
    assert operation.scope == "rule 1 of DLQ: 3 dead letters"
    assert fsck.violations() == []


def test_the_first_rule_that_matches_holds(ada: User) -> None:
    make_queue("slow")
    make_queue("bills")
    (late,) = make_dead_letters(1, error="late")
    (bad,) = make_dead_letters(1, error="bad")
    key = fingerprint("late").key
    text = (
        f"*! FINGERPRINT({key}) ACTION(FWD) FWDQ('slow')\n"
        "REASON(0) ACTION(DISCARD)\nACTION(FWD) FWDQ('bills')"
    )

    deeds = run(write(text, ada))

    assert [(one["rule"], one["sample"]) for one in deeds] == [(1, [late]), (2, [bad])]
    assert len(on("slow")) == 1
    assert on("bills") == []
    assert Discarded.objects.get().message_id == bad


def test_what_a_rule_discards_can_be_restored(ada: User) -> None:
    (letter,) = make_dead_letters(1)

    run(write("ACTION(DISCARD)", ada))

    assert on("DLQ") == []
    undone = operations.plan_undo(ada, Operation.objects.get().pk)
    operations.start(undone.pk)
    assert on("DLQ") == [letter]


def test_ignored_letters_stay_and_no_pass_tells_of_them(ada: User) -> None:
    letters = make_dead_letters(2)

    assert run(write("ACTION(IGNORE)\nACTION(DISCARD)", ada)) == []

    assert on("DLQ") == letters


def test_to_observe_is_to_say_what_would_be_done_once(ada: User) -> None:
    letters = make_dead_letters(3)
    table = write("ACTION(DISCARD)", ada, mode=Mode.OBSERVE)

    (deed,) = run(table)

    assert (deed["letters"], deed["done"], deed["operation"]) == (3, 0, None)
    assert deed["sample"] == letters
    assert on("DLQ") == letters
    assert not Operation.objects.exists()
    assert not RuleAttempt.objects.exists()
    assert run(table, after_s=3600) == []
    make_dead_letters(1)
    assert run(table, after_s=3600)[0]["letters"] == 1


def test_rules_that_are_off_do_nothing(ada: User) -> None:
    letters = make_dead_letters(1)
    assert rules.run(write("ACTION(DISCARD)", ada, mode=Mode.OFF).pk) == 0
    assert on("DLQ") == letters
    assert rules.due() == []


def test_a_letter_that_comes_back_is_not_sent_round_for_ever(ada: User) -> None:
    make_dead_letters(1)
    make_queue("by hand")
    table = write("ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ('by hand')", ada)
    seen = []

    for number in range(5):
        deeds = run(table, after_s=60 * number)
        seen += [(one["rule"], one["done"]) for one in deeds]
        if on("orders"):
            assert back_out(at=10 + number)

    assert seen == [(1, 1), (1, 1), (2, 1)]
    assert len(on("by hand")) == 1
    assert on("DLQ") == []


def test_a_letter_that_dies_where_a_rule_sent_it_is_not_sent_there_again(
    ada: User,
) -> None:
    make_dead_letters(1)
    make_queue("retries", address="orders")
    table = write("ACTION(FWD) FWDQ('retries')", ada)

    assert run(table)[0]["done"] == 1
    assert back_out("retries", at=1)

    assert run(table, after_s=600) == []
    assert len(on("DLQ")) == 1


def test_two_attempts_are_an_interval_apart(ada: User) -> None:
    make_dead_letters(1)
    table = write("RETRYINT(120)\nACTION(RETRY) RETRY(3)", ada)
    assert run(table)
    assert back_out(at=1)

    assert run(table, after_s=119) == []
    assert run(table, after_s=120)[0]["done"] == 1


def test_what_a_person_sends_back_begins_anew(ada: User) -> None:
    make_dead_letters(1)
    table = write("ACTION(RETRY)", ada)
    run(table)
    assert back_out(at=1)
    assert run(table, after_s=600) == []

    operations.start(plan().pk)
    assert back_out(at=2)

    assert run(table, after_s=1200)[0]["done"] == 1


def test_what_its_queue_refuses_is_tried_again_and_then_by_the_next_rule(
    ada: User,
) -> None:
    letters = make_dead_letters(1)
    make_queue("by hand")
    Queue.objects.filter(name="orders").update(put_inhibited=True)
    table = write("ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ('by hand')", ada)

    (first,) = run(table)
    (second,) = run(table, after_s=60)

    assert first["failed"] == 1
    assert first["why"].startswith("Queue 'orders' is put-inhibited.")
    assert second["failed"] == 1
    assert on("DLQ") == letters
    assert run(table, after_s=120)[0]["rule"] == 2
    assert len(on("by hand")) == 1
    assert fsck.violations() == []


def test_a_full_queue_gets_as_many_as_it_has_room_for(ada: User) -> None:
    letters = make_dead_letters(3)
    Queue.objects.filter(name="orders").update(max_depth=2)
    table = write("ACTION(RETRY) RETRY(3)", ada)

    (deed,) = run(table)

    assert (deed["done"], deed["failed"]) == (2, 1)
    assert "full" in deed["why"]
    assert on("DLQ") == letters[2:]
    assert len(on("orders")) == 2
    assert run(table, after_s=60)[0]["failed"] == 1
    Queue.objects.filter(name="orders").update(max_depth=None)
    assert run(table, after_s=120)[0]["done"] == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ACTION(FWD) FWDQ(NOWHERE)", "There is no queue 'NOWHERE'"),
        ("ACTION(FWD) FWDQ('bills') FWDQM(FAR)", "the queue manager FAR is not this"),
        ("ACTION(FWD) FWDQ(&REPLYQ)", "&REPLYQ is blank in the letter"),
        ("ACTION(FWD) FWDQ('bills') PUTAUT(CTX)", "there is no user '', for PUTAUT"),
    ],
)
def test_a_rule_that_leads_nowhere_fails_and_says_why(
    ada: User, text: str, why: str
) -> None:
    letters = make_dead_letters(1)
    make_queue("bills")

    (deed,) = run(write(f"{text}\nACTION(DISCARD)", ada))

    assert deed["failed"] == 1
    assert deed["why"].startswith(why)
    assert on("DLQ") == letters
    assert run(RuleTable.objects.get(), after_s=60)[0]["rule"] == 2


def test_a_letter_is_not_forwarded_to_where_it_lies(ada: User) -> None:
    make_dead_letters(1, reply_to="DLQ")
    (deed,) = run(write("ACTION(FWD) FWDQ(&REPLYQ)", ada))
    assert (deed["failed"], deed["why"]) == (1, "they lie there already")


def test_rules_act_with_the_authority_of_who_switched_them_on(db: None) -> None:
    letters = make_dead_letters(1)
    olga = make_user("olga", granted=("inquire", "get"))

    (deed,) = run(write("ACTION(RETRY)", olga))
    assert "olga lacks the authority 'put' on queue 'orders'" in deed["why"]

    nora = make_user("nora", granted=("inquire",))
    table = write("ACTION(DISCARD)", nora)
    assert rules.run(table.pk, now=AFTER) == 0
    assert "nora lacks the authority 'get'" in RuleTable.objects.get().trouble
    nora.delete()
    assert rules.run(table.pk, now=AFTER) == 0
    assert "Nobody switched them on" in RuleTable.objects.get().trouble
    assert on("DLQ") == letters


def test_with_the_sender_s_authority_it_is_the_sender_who_has_to_have_it(
    ada: User,
) -> None:
    make_user("shop", granted=("put",), pattern="orders")
    make_dead_letters(1, descriptor={"user_identifier": "shop"})
    make_queue("bills")

    (deed,) = run(write("ACTION(FWD) FWDQ('bills') PUTAUT(CTX)", ada))
    assert "shop lacks the authority 'put' on queue 'bills'" in deed["why"]

    assert run(write("ACTION(RETRY) PUTAUT(CTX)", ada))[0]["done"] == 1


def test_a_pass_is_bounded_and_the_next_goes_on(ada: User) -> None:
    letters = make_dead_letters(5)
    table = write("ACTION(DISCARD)", ada)

    assert [rules.run(table.pk, limit=2, now=AFTER) for _ in range(4)] == [2, 2, 1, 0]

    assert on("DLQ") == []
    kept = Discarded.objects.order_by("message_id")
    assert list(kept.values_list("message_id", flat=True)) == letters
    assert RulePass.objects.count() == 3


def test_the_task_works_through_every_table(ada: User) -> None:
    make_dead_letters(3)
    write("ACTION(DISCARD)", ada)

    apply_dead_letter_rules()
    apply_dead_letter_rules()

    assert on("DLQ") == []
    assert RulePass.objects.count() == 1


def test_a_filter_narrows_a_rule(ada: User) -> None:
    (wanted,) = make_dead_letters(1, properties={"tenant": "t7"})
    (other,) = make_dead_letters(1, properties={"tenant": "t8"})

    run(write("*! FILTER('h.tenant:t7 origin:orders') ACTION(DISCARD)", ada))

    assert on("DLQ") == [other]
    assert Discarded.objects.get().message_id == wanted


def test_counts_of_what_is_gone_are_forgotten(ada: User) -> None:
    make_dead_letters(1)
    run(write("ACTION(DISCARD)", ada))
    days = minutes(60 * 24 * 2)
    assert rules.forget_gone(limit=10, now=AFTER + days) == 0

    Message.objects.all().delete()

    assert rules.forget_gone(limit=10, now=AFTER) == 0
    assert rules.forget_gone(limit=10, now=AFTER + days) == 1
    assert not RuleAttempt.objects.exists()
