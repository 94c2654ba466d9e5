"""What became of a message by IBM MQ's rules, as its page tells it."""

from __future__ import annotations

import pytest

from broker.errors.mq_codes import Reason
from broker.models import Message, Queue
from broker.queueing.put import put
from broker.settlement.poison import Last
from broker.transactions.scope import UnitOfWork
from tests.console.conftest import SignIn
from tests.console.letters import attempt, make_places
from tests.console.messages.test_messages import page, words
from tests.console.poison import DEAD_LETTERS, make_payments, poison, remove
from tests.make import NOON, make_setting

pytestmark = pytest.mark.django_db


@pytest.mark.spec("POISON-3", "POISON-13", "UNIFY-5")
def test_the_path_of_a_poison_message_can_be_read(sign_in: SignIn) -> None:
    make_payments()
    message_id = poison(body=b"<row>7</row>", content_type="application/xml")
    client = sign_in("operator")
    assert "ready on payments, since" in words(page(client, message_id))

    remove()
    moved = Message.objects.latest("pk").pk

    for number in (message_id, moved):
        said = words(page(client, number))
        for attempt_ in (1, 2, 3):
            assert f"Attempt {attempt_} of 3: backed out after 12 ms" in said
        assert (
            "Moved to backout queue payments.BOQ: backout threshold reached after 3"
            " backouts. It became copy 1"
        ) in said
        assert "by bank.handle" in said
        assert "Attempt 4" not in said
    assert "It is a dead letter on payments.BOQ" in said
    assert (
        "A consumer of payments moved it here: backout threshold reached after 3"
        " backouts. The last backout said: ValueError: row 7 is bad"
    ) in said
    assert "MQMD, MQRFH2" in said
    assert "mcd.Msd jms_text" in said


@pytest.mark.spec("POISON-14", "UNIFY-5")
@pytest.mark.parametrize(
    ("backout_queue", "why", "words_of_it"),
    [
        ("", None, "and no backout queue is set (2362 BACKOUT_THRESHOLD_REACHED)"),
        (
            "NOT.THERE",
            None,
            "and its backout queue did not take it (2085 UNKNOWN_OBJECT_NAME)",
        ),
        (
            "",
            Reason.JMS_FORMAT_ERROR,
            "its headers cannot be read (2364 JMS_FORMAT_ERROR)",
        ),
        (
            "",
            Reason.MSG_NOT_MATCHED,
            "no consumer's selector matches it (2363 MSG_NOT_MATCHED)",
        ),
    ],
)
def test_a_move_to_the_dead_letter_queue_says_its_cause_and_code(
    sign_in: SignIn, backout_queue: str, why: Reason | None, words_of_it: str
) -> None:
    make_payments("")
    poison()
    remove(backout_queue, why=why)

    said = words(page(sign_in("operator"), Message.objects.latest("pk").pk))

    assert "Moved to dead letter queue SYSTEM.DEAD.LETTER.QUEUE: " in said
    assert said.count(words_of_it) == 2  # in the verdict, and in the timeline


def test_a_message_that_no_queue_took_is_back_and_waits(sign_in: SignIn) -> None:
    make_payments("")
    Queue.objects.filter(name=DEAD_LETTERS).delete()
    message_id = poison()
    remove("", last=Last.RETURN)

    said = words(page(sign_in("operator"), message_id))

    assert "neither its backout queue nor the dead letter queue took it" in said
    assert "released, not counted" in said


@pytest.mark.parametrize(
    ("policy", "attempts", "limit"),
    [
        (None, 10, " of 3"),
        ("artemis", 10, " of 10"),
        ("both", 2, " of 2"),
        ("both", -1, " of 3"),
        ("none", 10, ""),
    ],
)
def test_the_limit_of_attempts_is_that_of_who_moves_messages_away(
    sign_in: SignIn, policy: str | None, attempts: int, limit: str
) -> None:
    make_payments()
    make_setting("payments", poison_policy=policy, max_delivery_attempts=attempts)
    message_id = put("payments").message_id
    attempt("no", queue="payments")

    assert f"Attempt 1{limit}: backed out" in words(page(sign_in("viewer"), message_id))


@pytest.mark.spec("SKIP-3")
def test_a_skipped_backout_can_be_read(sign_in: SignIn, db: None) -> None:
    make_places(attempts=3)
    message_id = put("orders", now=NOON).message_id
    work = UnitOfWork(now=NOON, actor="shop.handle")
    work.get("orders", mark=True)
    work.back_out("ValueError: no")
    client = sign_in("operator")

    said = words(page(client, message_id))
    assert "its consumer kept this message: it skipped the backout" in said
    assert "ValueError: no" in said
    assert "Attempt 1 of 3 is running" in said
    assert "A consumer has it: attempt 1 of 3 on orders" in said

    assert work.skipped
    work.skipped.commit()
    assert "It was accepted on orders in attempt 1" in words(page(client, message_id))
