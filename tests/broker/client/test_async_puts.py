"""``aput`` and ``aput_many``: puts that share commits, and what one of them may do."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import Error as DatabaseError
from django.db import connection
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import broker.client as api
from broker.client import NewMessage, aput, aput_many
from broker.client.asynchronous import puts, threads
from broker.errors import InvalidMessage, MessageTooLarge, NoSuchAddress
from broker.models import Event, Kind, Message, Queue, Ready
from broker.transactions import merged_puts
from tests.broker.client.asynchronous import (
    WITHIN_S,
    apart,
    backend_of_puts,
    is_there,
    terminate,
)
from tests.broker.elsewhere import process
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Iterator[Queue]:
    yield make_queue("orders")
    threads.close()


class Gate:
    """Holds what is stored back until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.groups: list[int] = []
        self.begun, self.opened = threading.Semaphore(0), threading.Event()
        monkeypatch.setattr(puts, "store", self.store)

    def store(self, group: list[merged_puts.Put]) -> Sequence[Any]:
        self.groups.append(len(group))
        self.begun.release()
        assert self.opened.wait(WITHIN_S)
        return merged_puts.store(group)

    async def begins(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=WITHIN_S)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.opened.set()


def bodies() -> list[bytes]:
    return [bytes(one) for one in Message.objects.values_list("body", flat=True)]


@pytest.mark.parametrize("name", ["put", "put_many", "consumer"])
def test_a_twin_has_the_same_options(name: str) -> None:
    one, other = getattr(api, name), getattr(api, f"a{name}")
    options, of_twin = (
        inspect.signature(each).parameters.values() for each in (one, other)
    )
    assert list(options) == list(of_twin)


def test_a_put_is_stored_with_its_fields() -> None:
    properties = {"region": "north"}
    receipt = asyncio.run(
        aput("orders", b"pears", priority=7, properties=properties, now=NOON)
    )
    message = Message.objects.get()
    assert (receipt.message_id, receipt.put_at) == (message.pk, NOON)
    assert receipt.queue_ids == [Queue.objects.get().pk]
    assert (message.priority, message.properties) == (7, properties)


def test_many_are_all_or_none() -> None:
    many = make_messages(3)
    receipts = asyncio.run(aput_many(many, actor="ada", uow=7))
    assert [one.message_id for one in receipts] == sorted(
        Ready.objects.values_list("id", flat=True)
    )
    assert {(one.actor, one.uow) for one in Event.objects.filter(kind=Kind.PUT)} == {
        ("ada", 7)
    }
    with pytest.raises(NoSuchAddress):
        asyncio.run(aput_many([*many, NewMessage("nowhere")]))
    assert Message.objects.count() == 3
    assert asyncio.run(aput_many([])) == []


def test_five_hundred_at_once_are_all_there_once_and_share_commits(gate: Gate) -> None:
    async def put_all() -> list[int]:
        first = asyncio.ensure_future(aput("orders", b"first"))
        await gate.begins()
        others = [asyncio.ensure_future(aput("orders", b"%d" % n)) for n in range(500)]
        await asyncio.sleep(0)
        gate.opened.set()
        receipts = await asyncio.gather(first, *others)
        return [one.message_id for one in receipts]

    ids = asyncio.run(put_all())
    assert sorted(bodies()) == sorted([b"first", *(b"%d" % n for n in range(500))])
    assert dict(Message.objects.values_list("pk", "body")).keys() == set(ids)
    assert len(gate.groups) <= 3
    assert sum(gate.groups) == 501


def test_who_is_refused_is_alone_in_that(gate: Gate) -> None:
    async def put_all() -> list[Any]:
        first = asyncio.ensure_future(aput("orders", b"first"))
        await gate.begins()
        others = [asyncio.ensure_future(aput("orders", b"%d" % n)) for n in range(50)]
        others += [
            asyncio.ensure_future(aput("nowhere")),
            asyncio.ensure_future(aput("orders", b"", subject="\0")),
            asyncio.ensure_future(aput("orders", b"", properties={"a": object()})),
            asyncio.ensure_future(aput("orders", None)),  # type: ignore[arg-type]
        ]
        await asyncio.sleep(0)
        gate.opened.set()
        return await asyncio.gather(first, *others, return_exceptions=True)

    *stored, nowhere, nul, value, none = asyncio.run(put_all())
    assert isinstance(nowhere, NoSuchAddress)
    assert isinstance(nul, InvalidMessage)
    assert isinstance(value, InvalidMessage)
    assert isinstance(none, TypeError)
    assert len({one.message_id for one in stored}) == 51
    assert Message.objects.count() == 51


def test_a_message_that_is_too_large_never_comes_to_the_others(
    gate: Gate, settings: Any
) -> None:
    settings.BROKER_MAX_MESSAGE_BYTES = 3
    with pytest.raises(MessageTooLarge):
        asyncio.run(aput("orders", b"pears"))
    assert gate.groups == []


def test_who_leaves_before_its_turn_has_put_nothing(gate: Gate) -> None:
    async def put_three() -> None:
        first = asyncio.ensure_future(aput("orders", b"first"))
        await gate.begins()
        second = asyncio.ensure_future(aput("orders", b"second"))
        third = asyncio.ensure_future(aput("orders", b"third"))
        await asyncio.sleep(0)
        second.cancel()
        gate.opened.set()
        await asyncio.gather(first, third)
        assert second.cancelled()

    asyncio.run(put_three())
    assert bodies() == [b"first", b"third"]


def test_a_lost_connection_is_told_and_the_next_put_has_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = threading.Event()

    def lose(group: list[merged_puts.Put]) -> Sequence[Any]:
        if not lost.is_set():
            lost.set()
            with connection.cursor() as cursor, pytest.raises(DatabaseError):
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return merged_puts.store(group)

    monkeypatch.setattr(puts, "store", lose)

    async def put_all() -> list[Any]:
        some = await asyncio.gather(
            *(aput("orders", b"%d" % n) for n in range(3)), return_exceptions=True
        )
        return [*some, await aput("orders", b"later")]

    *some, later = asyncio.run(put_all())
    failed = [one for one in some if isinstance(one, BaseException)]
    assert failed
    assert all(isinstance(one, DatabaseError) and str(one) for one in failed)
    assert len(set(map(id, failed))) == len(failed)
    assert Message.objects.count() == 4 - len(failed)
    assert later.message_id


def test_a_session_that_ended_while_nobody_put_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.sql.threads.IDLE_S", 0.0)

    async def put_again() -> None:
        await apart(terminate, await backend_of_puts())
        await aput("orders", b"pears")

    asyncio.run(put_again())
    assert bodies() == [b"pears"]


def test_while_the_database_is_away_a_put_fails_as_its_twin_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", "test_nowhere")
    with pytest.raises(DatabaseError, match="test_nowhere"):
        asyncio.run(aput("orders"))
    monkeypatch.undo()
    asyncio.run(aput("orders"))
    assert Message.objects.count() == 1


def test_event_loops_of_several_threads_share_the_thread_of_puts() -> None:
    async def put_some(n: int) -> int:
        await asyncio.gather(*(aput("orders", b"%d" % n) for _ in range(20)))
        return await backend_of_puts()

    backends: list[int] = []
    loops = [
        threading.Thread(target=lambda n=n: backends.append(asyncio.run(put_some(n))))
        for n in range(4)
    ]
    for one in loops:
        one.start()
    for one in loops:
        one.join(WITHIN_S)
    assert len(backends) == 4
    assert len(set(backends)) == 1
    assert sorted(bodies()) == sorted(b"%d" % n for n in range(4) for _ in range(20))


def test_the_loop_goes_on_while_a_put_waits(gate: Gate) -> None:
    async def beat() -> int:
        waiting = asyncio.ensure_future(aput("orders"))
        await gate.begins()
        beats = 0
        while beats < 100:
            await asyncio.sleep(0)
            beats += 1
        assert not waiting.done()
        gate.opened.set()
        await waiting
        return beats

    assert asyncio.run(beat()) == 100


def test_a_thread_without_puts_has_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(puts, "RESTS_AFTER_S", 0.01)
    threads.close()

    async def put_twice() -> tuple[int, int]:
        await aput("orders")
        first = await backend_of_puts()
        while await apart(is_there, first):
            await asyncio.sleep(0.01)
        return first, await backend_of_puts()

    first, second = asyncio.run(asyncio.wait_for(put_twice(), WITHIN_S))
    assert first != second


FORKS = """
import asyncio, os
from broker.client import aput
asyncio.run(aput("orders", b"parent"))
child = os.fork()
if not child:
    asyncio.run(aput("orders", b"child"))
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
asyncio.run(aput("orders", b"parent again"))
print("done", flush=True)
"""


def test_a_child_process_has_threads_of_its_own_and_all_end() -> None:
    with process(FORKS) as other:
        assert other.stdout.readline() == "done\n"
        assert other.wait() == 0
    assert bodies() == [b"parent", b"child", b"parent again"]


def test_a_put_belongs_to_the_trace_of_its_caller(spans: InMemorySpanExporter) -> None:
    receipt = asyncio.run(aput("orders"))
    (span,) = spans.get_finished_spans()
    assert (span.name, span.attributes) == (
        "put orders",
        {
            "messaging.system": "backout",
            "messaging.operation.name": "put",
            "messaging.operation.type": "send",
            "messaging.destination.name": "orders",
            "messaging.message.id": str(receipt.message_id),
        },
    )
    assert span.context is not None
    trace = f"{span.context.trace_id:032x}"
    assert trace in Message.objects.get().properties["traceparent"]


def test_nobody_is_connected_while_a_database_of_tests_is_dropped() -> None:
    backend = asyncio.run(backend_of_puts())
    assert is_there(backend)
    with connection._nodb_cursor():
        until(lambda: not is_there(backend), seconds=threads.RESTS_AFTER_S / 2)
    asyncio.run(aput("orders"))
    assert Message.objects.count() == 1
