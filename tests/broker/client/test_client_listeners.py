"""Listeners: functions that a session's own thread calls with each message."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from queue import Queue as Mailbox
from typing import Any

import pytest
from django.db import connection as database

from broker.client import Connection, Consumer, Message, Session, SessionMode, connect
from broker.errors import LockLost
from broker.models import Delayed, Queue
from broker.queueing import notifications
from broker.queueing.put import put
from broker.settlement.outcomes import BackOut
from broker.settlement.settle import end_if_held
from tests.broker.receiving import AUTO, CLIENT, TRANSACTED, counts, put_again
from tests.make import make_queue, make_user

WAIT_S = 30
CONNECTIONS: list[Connection] = []


def connection(**fields: Any) -> Connection:
    """One that is closed when the test ends, however that ends."""
    CONNECTIONS.append(connect(**fields))
    return CONNECTIONS[-1]


class Heard:
    """A listener that notes what it is called with, and then does what a test wants."""

    def __init__(self, then: Callable[[Message], object] = lambda _: None) -> None:
        self.messages: Mailbox[Message] = Mailbox()
        self.then = then

    def __call__(self, message: Message) -> None:
        self.messages.put(message)
        self.then(message)

    def next(self) -> tuple[bytes, int]:
        message = self.messages.get(timeout=WAIT_S)
        return message.body, message.backout_count


def listening(heard: Heard, mode: SessionMode = AUTO, *, prefetch: int = 1) -> Consumer:
    receiving = connection().session(mode, prefetch=prefetch).consumer("orders")
    receiving.listen(heard)
    return receiving


def once(action: Callable[[Message], object]) -> Callable[[Message], None]:
    """Does it with the first message only."""
    done: list[Message] = []

    def act(message: Message) -> None:
        if not done:
            done.append(message)
            action(message)

    return act


def refuse(_: Message) -> None:
    raise ValueError("no such customer")


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Iterator[Queue]:
    make_queue("BOQ")
    yield make_queue("orders")
    while CONNECTIONS:
        CONNECTIONS.pop().close()


def put_two() -> None:
    put("orders", b"1")
    put("orders", b"2")


@pytest.mark.spec("UOW-6")
@pytest.mark.parametrize("prefetch", [1, 9])
def test_auto_accepts_a_message_when_the_listener_returns(prefetch: int) -> None:
    heard = Heard()
    receiving = listening(heard, prefetch=prefetch)
    put_two()  # they wake the thread
    assert [heard.next(), heard.next()] == [(b"1", 0), (b"2", 0)]
    receiving.session.close()
    assert counts() == []


@pytest.mark.spec("UOW-6", "UOW-2")
@pytest.mark.parametrize("prefetch", [1, 9])
def test_a_listener_that_raises_gets_the_same_message_again(prefetch: int) -> None:
    put_two()
    heard = Heard(once(refuse))
    receiving = listening(heard, prefetch=prefetch)
    assert [heard.next() for _ in range(3)] == [(b"1", 0), (b"1", 1), (b"2", 0)]
    receiving.session.close()
    assert counts() == []


@pytest.mark.spec("UOW-6", "UNIFY-9")
@pytest.mark.parametrize("prefetch", [1, 9])
def test_a_listener_that_recovers_gets_the_same_message_again(prefetch: int) -> None:
    put_two()
    sessions: list[Session] = []
    heard = Heard(once(lambda _: sessions[0].recover()))
    session = connection().session(AUTO, prefetch=prefetch)
    sessions.append(session)
    session.consumer("orders").listen(heard)
    assert [heard.next() for _ in range(3)] == [(b"1", 0), (b"1", 1), (b"2", 0)]
    session.close()
    assert counts() == []


@pytest.mark.spec("UOW-6", "UOW-4")
def test_a_listener_that_recovers_accepts_nothing_that_it_has_not_read() -> None:
    make_queue("answers")
    put("answers", b"1")
    put("answers", b"2")
    session = connection().session(AUTO, prefetch=2)
    answers = session.consumer("answers")

    def recover_and_receive(_: Message) -> None:
        session.recover()
        answers.receive_nowait()

    heard = Heard(once(recover_and_receive))
    session.consumer("orders").listen(heard)
    put("orders", b"1")
    assert [heard.next(), heard.next()] == [(b"1", 0), (b"1", 1)]
    session.close()
    assert counts("answers") == [(b"2", 0)]


@pytest.mark.spec("UOW-6")
@pytest.mark.parametrize("mode", [CLIENT, TRANSACTED])
def test_in_other_sessions_a_raise_ends_nothing(mode: SessionMode) -> None:
    put_two()
    heard = Heard(once(refuse))
    receiving = listening(heard, mode)
    assert [heard.next(), heard.next()] == [(b"1", 0), (b"2", 0)]
    receiving.session.close()
    assert counts() == [(b"1", 1), (b"2", 1)]


@pytest.mark.spec("UOW-6", "UOW-1")
def test_a_listener_commits_and_rolls_back_its_session() -> None:
    put_two()
    session = connection().session(TRANSACTED)

    def end(message: Message) -> None:
        first = message.body == b"1" and not message.redelivered
        (session.rollback if first else session.commit)()

    heard = Heard(end)
    session.consumer("orders").listen(heard)
    assert [heard.next() for _ in range(3)] == [(b"1", 0), (b"1", 1), (b"2", 0)]
    session.close()
    assert counts() == []


@pytest.mark.spec("POISON-9")
@pytest.mark.parametrize("mode", list(SessionMode))
def test_a_listener_s_move_stands_at_once_whatever_the_session_does(
    orders: Queue, mode: SessionMode
) -> None:
    Queue.objects.update(backout_threshold=2, backout_queue="BOQ")
    put_again(2)
    put("orders", b"1")
    moved: Mailbox[list[tuple[bytes, int]]] = Mailbox()
    session = connection().session(mode)

    def look(_: Message) -> None:
        moved.put(counts("BOQ"))
        (session.rollback if mode is TRANSACTED else session.recover)()

    heard = Heard(once(look))
    session.consumer("orders").listen(heard)
    assert heard.next() == (b"1", 0)
    assert moved.get(timeout=WAIT_S) == [(b"poison", 0)]
    assert heard.next() == (b"1", 1)
    session.close()
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("POISON-9")
def test_a_listener_s_poison_that_has_no_place_goes_back(orders: Queue) -> None:
    Queue.objects.update(backout_threshold=2)
    put_again(2)
    put("orders", b"1")
    heard = Heard()
    receiving = listening(heard)
    assert heard.next() == (b"1", 0)
    receiving.session.close()
    assert Delayed.objects.get().backout_count == 2


@pytest.mark.spec("POISON-12")
def test_without_inquire_a_listener_is_never_called() -> None:
    put_again(1)
    said = threading.Event()
    handler = logging.Handler()
    handler.emit = lambda _: said.set()  # type: ignore[assignment,method-assign]
    logger = logging.getLogger("broker.client.jms.listeners")
    logger.addHandler(handler)
    heard = Heard()
    user = make_user(granted=("get",))
    connection(user=user).session().consumer("orders").listen(heard)
    assert said.wait(WAIT_S)
    CONNECTIONS[-1].close()
    logger.removeHandler(handler)
    assert heard.messages.empty()
    assert counts() == [(b"poison", 1)]


@pytest.mark.spec("UOW-7", "UOW-8")
def test_a_listener_s_next_commit_tells_what_was_lost() -> None:
    put("orders", b"1")
    session = connection().session(TRANSACTED)
    errors: Mailbox[int] = Mailbox()

    def lose_or_commit(message: Message) -> None:
        if not message.redelivered:
            end_if_held(message.delivery.uow, BackOut("took too long"))
            return
        try:
            session.commit()
        except LockLost as error:
            errors.put(error.reason)

    heard = Heard(lose_or_commit)
    session.consumer("orders").listen(heard)
    assert [heard.next(), heard.next()] == [(b"1", 0), (b"1", 1)]
    assert errors.get(timeout=WAIT_S) == 2003
    assert heard.next() == (b"1", 2)
    session.close()


def test_closing_waits_for_the_listener_at_work() -> None:
    put("orders", b"1")
    go_on = threading.Event()
    heard = Heard(lambda _: go_on.wait(WAIT_S))
    session = listening(heard).session
    assert isinstance(session, Session)
    heard.next()
    closing = threading.Thread(target=partial(close_here, session))
    closing.start()
    assert closing.is_alive()
    go_on.set()
    closing.join(WAIT_S)
    assert not closing.is_alive()
    assert session.listening is not None
    assert not session.listening.thread.is_alive()
    assert counts() == []  # it has returned, and so accepted


def close_here(session: Session) -> None:
    session.close()
    database.close()


def test_closing_ends_a_receive_that_waits() -> None:
    receiving = connection().session().consumer("orders")
    ended: Mailbox[Message | None] = Mailbox()
    began = threading.Event()

    def wait() -> None:
        began.set()
        ended.put(receiving.receive())
        database.close()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert began.wait(WAIT_S)
    receiving.session.close()
    try:
        assert ended.get(timeout=WAIT_S) is None
    finally:
        waiting.join()


def test_closing_wakes_whoever_waits(orders: Queue) -> None:
    for close in ("session", "consumer"):
        receiving = connection().session().consumer("orders")
        before = notifications.version(orders.pk)
        (receiving.session.close if close == "session" else receiving.close)()
        assert notifications.version(orders.pk) != before


def test_an_arrival_ends_a_receive_that_waits() -> None:
    receiving = connection().session().consumer("orders")
    sender = threading.Thread(target=partial(put_here, b"1"))
    sender.start()
    message = receiving.receive(timeout_s=WAIT_S)
    sender.join()
    assert message is not None
    assert message.body == b"1"


def put_here(body: bytes) -> None:
    put("orders", body)
    database.close()


def test_a_session_with_a_listener_is_its_thread_s_alone() -> None:
    receiving = listening(Heard())
    for call in (receiving.receive_nowait, receiving.session.acknowledge):
        with pytest.raises(ValueError, match="listener"):
            call()
    receiving.session.close()


def test_a_listener_cannot_close_its_own_session() -> None:
    put("orders", b"1")
    said: Mailbox[str] = Mailbox()
    session = connection().session()

    def close(_: Message) -> None:
        try:
            session.close()
        except ValueError as error:
            said.put(str(error))

    session.consumer("orders").listen(close)
    assert "cannot close its own session" in said.get(timeout=WAIT_S)
    session.close()


def test_one_thread_serves_all_listeners_of_a_session() -> None:
    make_queue("answers")
    session = connection().session()
    threads: Mailbox[int] = Mailbox()
    for consumer in [session.consumer(queue) for queue in ("orders", "answers")]:
        consumer.listen(lambda _: threads.put(threading.get_ident()))
    put("orders")
    put("answers")
    first, second = (threads.get(timeout=WAIT_S) for _ in range(2))
    session.close()
    assert first == second != threading.get_ident()
