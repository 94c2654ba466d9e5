"""Rules as they are kept and previewed, and what they do with IBM MQ's letters."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from broker.errors.rules import InvalidRules, NoSuchRules, RulesChanged
from broker.formats.mq.chain import chain_of
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.models import Message, Queue, RulePass
from broker.monitoring import dead_letters
from broker.operations import rules
from broker.operations.rules import Mode
from broker.queueing.put import put
from tests.broker.dying import back_out, make_dead_letters, on
from tests.broker.operations.test_rules_passes import AFTER, ada, run, write
from tests.console.poison import make_payments, poison, remove, rfh2, usr
from tests.make import NOON, make_queue

__all__ = ["ada"]  # a fixture


def ibm_letter() -> int:
    """A letter that a consumer moved by IBM MQ's rules, with an MQDLH before it."""
    make_payments("")
    message = rfh2(usr(colour="red")) | {"reply_to": "answers"}
    message["descriptor"] |= {"user_identifier": "bank", "msg_type": 1}
    poison(**message)
    remove("")
    (letter,) = dead_letters.letters(dead_letters.Selection())
    return letter.message_id


MATCHED = (
    "REASON(MQRC_BACKOUT_THRESHOLD_REACHED) DESTQ('payments') FORMAT(MQHRF2)"
    " MSGTYPE(MQMT_REQUEST) REPLYQ('ans*') USERID('bank') DESTQM(BACKOUT)"
    " PERSIST(MQPER_PERSISTENT)"
)
MQ_DLQ = "SYSTEM.DEAD.LETTER.QUEUE"


@pytest.mark.parametrize(("header", "is_kept"), [("", True), ("HEADER(NO)", False)])
def test_a_letter_with_an_mqdlh_is_forwarded_with_it_or_without(
    ada: User, header: str, *, is_kept: bool
) -> None:
    ibm_letter()
    make_queue("answers")
    text = f"{MATCHED} ACTION(FWD) FWDQ(&REPLYQ) {header}"

    (deed,) = run(write(text, ada, queue=MQ_DLQ))

    assert (deed["done"], deed["to"]) == (1, "answers")
    (there,) = on("answers")
    message = Message.objects.get(pk=there)
    chain = chain_of(message.descriptor, "text/plain", message.headers or b"")
    names = [one.name for one in chain.headers]
    assert names == (["MQDLH", "MQRFH2"] if is_kept else ["MQRFH2"])
    assert chain.is_whole


THEIRS = DeadLetterHeader(
    reason=2053, dest_q_name="theirs", dest_q_mgr_name="QM7", format="MQSTR"
).to_bytes()
AS_THEY_SAY = "REASON(2053) DESTQ('theirs') DESTQM(QM7) FORMAT(MQSTR)"


@pytest.mark.parametrize("apart", [False, True])
def test_a_header_of_another_program_is_read_wherever_it_stands(
    ada: User, *, apart: bool
) -> None:
    make_queue("bills")
    headers, body = (THEIRS, b"hello") if apart else (None, THEIRS + b"hello")
    put_dying(headers=headers, body=body, descriptor={"format": "MQDEAD"})
    (deed,) = run(write(f"{AS_THEY_SAY} ACTION(FWD) FWDQ('bills')", ada))
    assert (deed["done"], len(on("bills"))) == (1, 1)


def put_dying(**fields: Any) -> None:
    """A message that dies on its queue, with these fields."""
    make_dead_letters(1)
    put("orders", now=NOON, **fields)
    back_out("orders")


def test_a_letter_goes_back_without_its_mqdlh(ada: User) -> None:
    ibm_letter()

    (deed,) = run(write(f"{MATCHED} ACTION(RETRY)", ada, queue=MQ_DLQ))

    (back,) = on("payments")
    message = Message.objects.get(pk=back)
    chain = chain_of(message.descriptor, "text/plain", message.headers or b"")
    assert [one.name for one in chain.headers] == ["MQRFH2"]
    assert deed["done"] == 1


def test_a_table_is_kept_only_if_it_can_be_read(ada: User) -> None:
    make_queue("DLQ")
    with pytest.raises(InvalidRules):
        rules.save("DLQ", "ACTION(JUMP)", ada)
    with pytest.raises(NoSuchRules):
        rules.switch("DLQ", Mode.ACTIVE, ada)
    first = rules.save("DLQ", "ACTION(IGNORE)", ada, revision=0)
    assert first.mode == Mode.OFF
    with pytest.raises(RulesChanged):
        rules.save("DLQ", "ACTION(DISCARD)", ada, revision=0)
    rules.switch("DLQ", Mode.ACTIVE, ada)

    second = rules.save("DLQ", "ACTION(DISCARD)", ada, revision=1)

    assert (second.revision, second.mode) == (2, Mode.OBSERVE)
    assert rules.save("DLQ", "ACTION(DISCARD)", ada, revision=2).revision == 2


def test_a_preview_says_what_each_rule_would_do(ada: User) -> None:
    letters = make_dead_letters(3)
    make_queue("bills")
    text = (
        "REASON(2053) ACTION(RETRY)\n"
        "DESTQ('ord*') ACTION(RETRY)\n"
        "DESTQ('orders') ACTION(DISCARD)\n"
        "ACTION(FWD) FWDQ(BILLS)\n"
    )
    table = rules.read(text, queue="DLQ")

    seen = rules.preview(table, Queue.objects.get(name="DLQ"), now=AFTER)

    never, first, second, last = seen.rules
    assert (never.matched, never.first, never.covered_by) == (0, 0, None)
    assert (first.matched, first.first, first.acts) == (3, 3, 3)
    assert first.sample == letters
    assert first.targets == {"orders": 3}
    assert (second.matched, second.first, second.covered_by) == (3, 0, 2)
    assert second.taken_by == {2: 3}
    assert second.is_shadowed
    assert last.warnings == [
        "There is no queue BILLS: the rule always fails."
        " Write FWDQ('bills'), in quotes."
    ]
    assert (seen.looked_at, seen.unmatched, seen.is_limited) == (3, 0, False)
    assert on("DLQ") == letters
    assert not RulePass.objects.exists()
