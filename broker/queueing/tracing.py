"""Traces of messages: the trace context that a put passes on, and spans of messages.

A message that is put within a span of OpenTelemetry belongs to its trace, and one that
a handler puts belongs to the trace of the message that it handles. A message that has a
trace context keeps it, and so does a message that came by AMQP without one: it is sent
on byte for byte. There are spans only where OpenTelemetry's SDK is set up; the broker
does not need the package.

Source:
    OpenTelemetry, "Semantic conventions for messaging spans". The names of operations
    are this broker's; their types are those of the conventions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from broker.formats.exceptions import path_of, qualname_of, text_of
from broker.formats.stack_trace import stack_trace
from broker.formats.trace_context import TRACEPARENT, context_of
from broker.queueing.store import NewMessage, Receipt

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, Tracer

    from broker.queueing.get import Delivery

try:
    from opentelemetry import context as contexts
    from opentelemetry import trace
    from opentelemetry.trace.propagation import tracecontext
except ImportError:
    HAS_API = False
else:
    HAS_API = True
    TRACER = trace.get_tracer("backout")
    W3C = tracecontext.TraceContextTextMapPropagator()

NONE: Mapping[str, str] = {}
# The trace context of the work of this thread, if there is no span that has it.
PRESENT: ContextVar[Mapping[str, str]] = ContextVar("trace_context", default=NONE)

Kind = Literal["CLIENT", "CONSUMER", "PRODUCER"]
Put = Callable[[Sequence[NewMessage]], list[Receipt]]
AsyncPut = Callable[[Sequence[NewMessage]], Awaitable[list[Receipt]]]


def tracer() -> Tracer | None:
    """The tracer; None if nothing would record its spans."""
    # This reads a private name, as ``get_tracer_provider`` takes a microsecond for each
    # message.
    return TRACER if HAS_API and trace._TRACER_PROVIDER is not None else None


def put(messages: Sequence[NewMessage], store: Put) -> list[Receipt]:
    """Store messages, in a span, with the present trace context."""
    on = tracer()
    if on is None:
        return store(carrying(messages, PRESENT.get()))
    with span_of_put(on, messages) as opened:
        receipts = store(carrying(messages, current()))
        note_number(opened, receipts)
        return receipts


async def aput(messages: Sequence[NewMessage], store: AsyncPut) -> list[Receipt]:
    """As ``put``, from asynchronous code."""
    on = tracer()
    if on is None:
        return await store(carrying(messages, PRESENT.get()))
    with span_of_put(on, messages) as opened:
        receipts = await store(carrying(messages, current()))
        note_number(opened, receipts)
        return receipts


def span_of_put(on: Tracer, messages: Sequence[NewMessage]) -> Spanning:
    said = attributes("put", "send", {one.address for one in messages})
    if len(messages) != 1:
        said["messaging.batch.message_count"] = len(messages)
    # The kind is not PRODUCER if other spans created all the messages.
    kind: Kind = "PRODUCER" if any(map(is_open, messages)) else "CLIENT"
    return span(on, said, kind, links=links_to(messages))


def note_number(opened: Span, receipts: Sequence[Receipt]) -> None:
    if len(receipts) == 1:
        opened.set_attribute("messaging.message.id", str(receipts[0].message_id))


def created(messages: Sequence[NewMessage]) -> Sequence[NewMessage]:
    """Messages for a put at a later commit, with the present trace context."""
    on = tracer()
    if on is None:
        return carrying(messages, PRESENT.get())
    found: list[NewMessage] = []
    for message in messages:
        said = attributes("create", "create", {message.address})
        with span(on, said, "PRODUCER") if is_open(message) else nullcontext():
            found += carrying([message], current())
    return found


def received(queue: str, messages: Sequence[Delivery]) -> None:
    """Note in a span that a program got messages."""
    on = tracer()
    if on is not None and messages:
        said = attributes("get", "receive", {queue})
        said["messaging.batch.message_count"] = len(messages)
        with span(on, said, "CLIENT", links=links_to(messages)):
            pass


def within(properties: Mapping[str, Any]) -> AbstractContextManager[object]:
    """Make the trace context of some properties the present one, unless there is a
    span that has one."""
    if tracer() is not None:
        if trace.get_current_span().get_span_context().is_valid:
            return nullcontext()
        return attached(properties)
    return Within(PRESENT.set, PRESENT.reset, context_of(properties))


def attached(properties: Mapping[str, Any]) -> Within:
    context = extracted(properties) or contexts.Context()
    return Within(contexts.attach, contexts.detach, context)


class Within(AbstractContextManager[None]):
    """Something is set within a block.

    No generator: ``contextlib`` sets ``__traceback__`` of what is raised through one,
    and an exception of a handler need not allow it.
    """

    def __init__(
        self, begin: Callable[[Any], Any], end: Callable[[Any], object], value: object
    ) -> None:
        self.begin, self.end, self.value = begin, end, value

    def __enter__(self) -> None:
        self.token = self.begin(self.value)

    def __exit__(self, *_: object) -> None:
        self.end(self.token)


def attributes(
    operation: str, kind: str, destinations: Iterable[str]
) -> dict[str, Any]:
    """The attributes of every span.

    Args:
        operation: its name, as "put".
        kind: its type by the conventions: create, send, receive, process or settle.
        destinations: names of queues or addresses; only a single one is told.
    """
    said = {
        "messaging.system": "backout",
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
    }
    named = list(destinations)
    if len(named) == 1:
        said["messaging.destination.name"] = named[0]
    return said


def span(on: Tracer, said: dict[str, Any], kind: Kind, **more: Any) -> Spanning:
    """A span that records an error of its block; ``more`` goes to ``start_span``."""
    words = said["messaging.operation.name"], said.get("messaging.destination.name")
    return Spanning(
        on.start_span(
            " ".join(filter(None, words)),
            kind=trace.SpanKind[kind],
            attributes=said,
            **more,
        )
    )


class Spanning(AbstractContextManager["Span"]):
    """Makes a span the current one, and ends it; see ``Within``."""

    def __init__(self, opened: Span) -> None:
        self.opened = opened
        self.within = Within(contexts.attach, contexts.detach, below(opened))

    def __enter__(self) -> Span:
        self.within.__enter__()
        return self.opened

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        stack: TracebackType | None,
    ) -> None:
        self.within.__exit__()
        if error is not None:
            note(self.opened, error)
        self.opened.end()


def below(opened: Span) -> Context:
    """The context of spans below this one."""
    return trace.set_span_in_context(opened)


def note(opened: Span, error: BaseException) -> None:
    """Record in a span that an operation failed, with the stack trace as an event."""
    # As ``record_exception`` of OpenTelemetry has it, without calling methods of the
    # exception.
    said = {
        "exception.type": path_of(error),
        "exception.message": text_of(error),
        "exception.stacktrace": stack_trace(error),
    }
    opened.add_event("exception", said)
    opened.set_attribute("error.type", qualname_of(error))
    opened.set_status(trace.Status(trace.StatusCode.ERROR, text_of(error)[:200]))


def extracted(properties: Mapping[str, Any]) -> Context | None:
    """OpenTelemetry's context of the span that created a message; None if the message
    has no trace context."""
    carried = context_of(properties)
    return W3C.extract(carried) if carried else None


def links_to(messages: Iterable[NewMessage | Delivery]) -> list[Link]:
    """Links to the spans that created these messages."""
    found = filter(None, (extracted(one.properties) for one in messages))
    return [trace.Link(trace.get_current_span(one).get_span_context()) for one in found]


def current() -> dict[str, str]:
    """The context of the current span."""
    carrier: dict[str, str] = {}
    W3C.inject(carrier)
    return carrier


def carrying(
    messages: Sequence[NewMessage], context: Mapping[str, str]
) -> Sequence[NewMessage]:
    """The messages, with this trace context where they have none."""
    if not context:
        return messages
    return [
        replace(one, properties={**one.properties, **context}) if is_open(one) else one
        for one in messages
    ]


def is_open(message: NewMessage) -> bool:
    """Whether a message may get a trace context."""
    return message.envelope is None and TRACEPARENT not in message.properties
