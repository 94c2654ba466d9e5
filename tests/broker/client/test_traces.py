"""The trace context of a message goes on to what its handler puts; spans, where
OpenTelemetry's SDK is set up."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from broker.client import NewMessage, put, put_many, unit_of_work
from broker.errors import NoSuchAddress
from broker.formats.trace_context import trace_id
from broker.queueing import tracing
from broker.queueing.get import Delivery
from broker.transactions.scope import UnitOfWork
from tests.broker.handling import Seen, handle_next, handler, refuse
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "tracestate": "rojo=1"}
OTHER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}


@pytest.fixture(autouse=True)
def queues(transactional_db: None) -> None:
    make_queue("orders")
    make_queue("bills")


def bill(_: Delivery, work: UnitOfWork) -> None:
    """A handler that puts by its unit of work, and by itself."""
    work.put("bills", b"by work")
    put("bills", b"at once")
    put("bills", b"of another trace", properties=OTHER)


def properties_on(queue: str) -> dict[bytes, dict[str, Any]]:
    """The properties of the messages on a queue, by body."""
    taken = UnitOfWork().get(queue, 100)
    return {one.body: one.properties for one in taken}


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {one.name: one for one in exporter.get_finished_spans()}


def ids(context: trace.SpanContext | None) -> tuple[int, int]:
    """Trace and span; whether it came from elsewhere does not matter."""
    assert context is not None
    return context.trace_id, context.span_id


def handle_with(handle: Any) -> None:
    handle.__qualname__ = "handle_order"
    handle_next(handler(handle))


def test_what_a_handler_puts_has_the_trace_of_its_message() -> None:
    put("orders", properties=GIVEN | {"tenant": "t7"})

    handle_with(bill)

    assert properties_on("bills") == {
        b"by work": GIVEN,
        b"at once": GIVEN,
        b"of another trace": OTHER,
    }
    put("bills", b"after it")
    put_many([NewMessage("bills", b"by AMQP", envelope=b"\0\0\0\0\0")])
    assert properties_on("bills") == {b"after it": {}, b"by AMQP": {}}


def test_a_message_without_a_trace_gives_none_on() -> None:
    put("orders", properties={"traceparent": "no context"})

    handle_with(bill)

    assert properties_on("bills")[b"by work"] == {}


def test_the_spans_of_a_message_are_one_trace(spans: InMemorySpanExporter) -> None:
    message_id = put("orders", b"seven", correlation_id="c1").message_id

    handle_with(bill)

    told = by_name(spans)
    assert list(told) == [
        *("put orders", "create bills", "put bills", "process orders"),
        "accept orders",
    ]
    assert {one.kind.name for one in told.values()} == {
        *("PRODUCER", "CLIENT", "CONSUMER"),
    }
    sent, process = told["put orders"], told["process orders"]
    assert sent.context is not None
    assert process.context is not None
    assert ids(process.parent) == ids(sent.context)
    assert [ids(one.context) for one in process.links] == [ids(sent.context)]
    assert dict(process.attributes or {}) == {
        "messaging.system": "backout",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "orders",
        "messaging.message.id": str(message_id),
        "messaging.message.body.size": 5,
        "messaging.message.conversation_id": "c1",
        "messaging.backout.backout_count": 0,
        "code.function.name": f"{__name__}.handle_order",
    }
    assert (told["create bills"].parent, told["accept orders"].parent) == (
        process.context,
        process.context,
    )
    one_trace = format(sent.context.trace_id, "032x")
    bills = properties_on("bills")
    assert {trace_id(bills[one]) for one in (b"by work", b"at once")} == {one_trace}
    assert trace_id(bills[b"of another trace"]) == trace_id(OTHER)


def test_a_handler_that_raises_fails_its_span_and_not_the_backout(
    spans: InMemorySpanExporter,
) -> None:
    put("orders", properties=GIVEN)

    handle_next(handler(Seen(refuse)))

    told = by_name(spans)
    process, settled = told["process orders"], told["back out orders"]
    assert process.context is not None
    assert format(process.context.trace_id, "032x") == TRACE
    assert (process.attributes or {})["error.type"] == "ValueError"
    assert process.status.description == "no such customer"
    assert [one.name for one in process.events] == ["exception"]
    assert settled.status.is_ok
    assert (settled.attributes or {})["messaging.operation.type"] == "settle"


def test_a_commit_that_fails_fails_the_span_of_the_settlement(
    spans: InMemorySpanExporter,
) -> None:
    put("orders")

    def nowhere(_: Delivery, work: UnitOfWork) -> None:
        work.put("no.such.address")

    handle_with(nowhere)

    settled = by_name(spans)["accept orders"]
    assert (settled.attributes or {})["error.type"] == "NoSuchAddress"


def test_a_put_within_a_span_and_a_get_by_hand(spans: InMemorySpanExporter) -> None:
    with tracing.TRACER.start_as_current_span("request") as request:
        put("orders")
    put_many([NewMessage("orders", b"1", properties=OTHER), NewMessage("orders", b"2")])
    with unit_of_work() as work:
        work.get("orders", 3)

    single, many = (
        one for one in spans.get_finished_spans() if one.name == "put orders"
    )
    assert single.parent == request.get_span_context()
    assert (many.attributes or {})["messaging.batch.message_count"] == 2
    got = by_name(spans)["get orders"]
    assert [one.context.trace_id for one in got.links] == [
        request.get_span_context().trace_id,
        int(OTHER["traceparent"][3:35], 16),
        many.context and many.context.trace_id,
    ]


def test_a_put_that_fails_says_so(spans: InMemorySpanExporter) -> None:
    with pytest.raises(NoSuchAddress):
        put("nowhere")

    (span,) = spans.get_finished_spans()
    assert (span.attributes or {})["error.type"] == "NoSuchAddress"
