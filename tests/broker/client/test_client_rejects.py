"""Messages that a session rejects: dead letters at once, or at the commit."""

from __future__ import annotations

from queue import Queue as Mailbox

import pytest

from broker.client import Consumer, Message, SessionMode
from broker.errors import LockLost
from broker.models import DeadLetter
from broker.queueing.put import put
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    TRANSACTED,
    client,
    consumer,
    counts,
    put_orders,
    received,
    session,
)
from tests.make import make_queue, make_setting

DB = pytest.mark.django_db


def make_orders() -> None:
    make_queue("DLQ")
    make_queue("orders")
    make_setting("orders", dead_letter_address="DLQ", max_delivery_attempts=-1)


def rejected_of(mode: SessionMode, why: str = "no\0 customer") -> Consumer:
    """A consumer that received two of three messages, and rejected the first."""
    make_orders()
    put_orders(3)
    receiving = consumer(mode, prefetch=9)
    first, second = receiving.receive_nowait(), receiving.receive_nowait()
    assert first is not None
    assert second is not None
    first.reject(why)
    return receiving


def died() -> list[tuple[str, str]]:
    return list(DeadLetter.objects.values_list("cause", "error"))


@DB
@pytest.mark.spec("DLA-11")
def test_client_rejects_one_message_at_once_and_holds_the_others() -> None:
    receiving = rejected_of(CLIENT)
    assert died() == [("REJECTED", r"no\0 customer")]
    assert counts() == [(b"3", 0)]
    receiving.session.recover()
    assert counts() == [(b"2", 1), (b"3", 0)]


@DB
@pytest.mark.spec("DLA-11")
def test_transacted_rejects_at_its_commit_and_a_rollback_undoes_it() -> None:
    receiving = rejected_of(TRANSACTED)
    receiving.session.rollback()
    assert died() == []
    message = receiving.receive_nowait()
    assert message is not None
    assert (message.body, message.backout_count) == (b"1", 1)
    message.reject("no customer 17")
    message.reject("no customer 18")
    assert received(receiving, 1) == [b"2"]
    assert died() == []
    receiving.session.commit()
    assert died() == [("REJECTED", "no customer 18")]
    assert counts() == [(b"3", 0)]


@DB
def test_what_is_rejected_twice_is_refused_and_nothing_else_is_lost() -> None:
    receiving = rejected_of(CLIENT)
    message = receiving.receive_nowait()
    assert message is not None
    message.reject()
    with pytest.raises(LockLost):
        message.reject()
    receiving.session.acknowledge()  # the second one
    with pytest.raises(LockLost):
        message.reject()
    assert counts() == []
    assert len(died()) == 2


@DB
def test_what_is_accepted_or_only_browsed_cannot_be_rejected() -> None:
    with pytest.raises(ValueError, match="in a listener"):
        rejected_of(AUTO)
    put_orders(1)
    (browsed,) = session().browser("orders")
    for call in (browsed.reject, browsed.acknowledge):
        with pytest.raises(ValueError, match="browsed"):
            call()
    assert died() == []


@pytest.mark.usefixtures("transactional_db")
def test_a_listener_rejects_its_message_and_accepts_none_of_those_ahead() -> None:
    make_orders()
    for body in (b"1", b"2"):
        put("orders", body)
    heard: Mailbox[bytes] = Mailbox()
    receiving = client(now=None).session(prefetch=2).consumer("orders")

    def listen(message: Message) -> None:
        heard.put(message.body)
        if message.body == b"1":
            message.reject("no customer")
            raise RuntimeError("which is not counted")

    receiving.listen(listen)
    assert [heard.get(timeout=30) for _ in range(2)] == [b"1", b"2"]
    receiving.session.close()
    assert died() == [("REJECTED", "no customer")]
    assert counts() == []
