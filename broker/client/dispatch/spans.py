"""Spans of a server session: one for each call of its handler, and one for the end of
the unit of work.

The span of a call belongs to the trace of its message, and has a link to the span that
created it.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Self

from broker.client.dispatch.handlers import Handler
from broker.formats.trace_context import TRACEPARENT
from broker.queueing import tracing
from broker.queueing.get import Delivery

UNTRACED = nullcontext()


class Spans:
    """The spans of one round at a time. As a context manager it surrounds the unit of
    work, so that its spans include the end of the unit of work."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.handled: list[Delivery] = []  # deliveries of this round, if traced
        self.error: BaseException | None = None  # the error that the handler raised
        # When the handler ended, in nanoseconds since 1970.
        self.handled_ns = 0
        self.context: Any = None  # context of the handler's span

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.handled:
            self.settled(error)

    def around(self, delivery: Delivery) -> AbstractContextManager[object]:
        """What surrounds a call of the handler: the trace of the message."""
        on = tracing.tracer()
        if on is not None:
            return Processing(self, delivery, self.begun(on, delivery))
        if TRACEPARENT in delivery.properties:
            return tracing.within(delivery.properties)
        return UNTRACED

    def begun(self, on: Any, delivery: Delivery) -> tracing.Spanning:
        said = tracing.attributes("process", "process", {self.handler.queue})
        said |= {
            "messaging.message.id": str(delivery.message_id),
            "messaging.message.body.size": len(delivery.body),
            "messaging.backout.backout_count": delivery.backout_count,
            "code.function.name": self.handler.name,
        }
        if delivery.correlation_id:
            said["messaging.message.conversation_id"] = delivery.correlation_id
        return tracing.span(
            on,
            said,
            "CONSUMER",
            context=tracing.extracted(delivery.properties),
            links=tracing.links_to([delivery]),
        )

    def settled(self, error: BaseException | None) -> None:
        """Note how the unit of work ended; ``error`` is what it raised.

        It ended as it should if that is the handler's own error: it was backed out.
        """
        deliveries, self.handled = self.handled, []
        failed, self.error = self.error, None
        on = tracing.tracer()
        if on is None:
            return
        name = "accept" if failed is None else "back out"
        said = tracing.attributes(name, "settle", {self.handler.queue})
        said["messaging.batch.message_count"] = len(deliveries)
        if len(deliveries) == 1:
            said["messaging.message.id"] = str(deliveries[0].message_id)
        with tracing.span(
            on,
            said,
            "CLIENT",
            context=self.context,
            links=tracing.links_to(deliveries),
            start_time=self.handled_ns,
        ) as span:
            if error is not None and error is not failed:
                tracing.note(span, error)


class Processing(AbstractContextManager[None]):
    """The span of a call of the handler. No generator: see ``tracing.Within``."""

    def __init__(
        self, spans: Spans, delivery: Delivery, spanning: tracing.Spanning
    ) -> None:
        self.spans = spans
        self.delivery = delivery
        self.spanning = spanning

    def __enter__(self) -> None:
        self.spans.context = tracing.below(self.spanning.__enter__())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.spanning.__exit__(kind, error, trace)
        self.spans.error = error
        self.spans.handled.append(self.delivery)
        self.spans.handled_ns = time.time_ns()
