"""Why a task failed: its exception and traceback, which become its dead letter's.

Celery acknowledges a task that failed, unless its settings say otherwise, and forgets
it. Here it becomes a dead letter: a person can read its error, correct its arguments,
and resubmit it. The exceptions of ``Task.throws`` are expected and are no failures; a
task that is retried is another message.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from django.db import transaction

from broker.client.celery_transport.messages import TaskMessage
from broker.formats.error_fingerprint import readable
from broker.formats.stack_trace import LONGEST
from broker.queueing.get import Delivery
from broker.queueing.put import put_as_given
from broker.queueing.store import NewMessage
from broker.settlement.outcomes import Reject, describe
from broker.settlement.settle import end_ready

HAS_CELERY = "celery" in sys.modules or find_spec("celery") is not None
if HAS_CELERY:
    from billiard.einfo import ExceptionWithTraceback
    from celery import exceptions, signals


def failure_of(exc_info: Any, throws: tuple[type[BaseException], ...]) -> Reject | None:
    """The outcome of a task that raised an exception.

    Args:
        exc_info: as the pool of the worker tells it (``billiard.einfo``).
        throws: exceptions that the task expects.

    Returns:
        None if it did not fail: it is retried, ignored, requeued or revoked.
    """
    error = exc_info.exception
    if isinstance(error, ExceptionWithTraceback):  # from another process
        error = error.exc
    if isinstance(error, exceptions.Reject):
        if error.requeue:
            return None
        return Reject(str(error.reason or "The task rejected its message."))
    others = exceptions.Retry, exceptions.Ignore, exceptions.Terminated
    if isinstance(error, (*others, *throws)):
        return None
    stack = readable(str(exc_info.traceback or "")[-LONGEST:], LONGEST)
    return Reject(describe(error), stack=stack)


def watch(sender: Any = None, request: Any = None, **_: Any) -> None:
    """Receive Celery's signal ``task_received``: see how the task of a message of ours
    ends."""
    message = request.message
    if isinstance(message, TaskMessage) and message.channel.keeps_failures:
        request.on_failure = partial(failed, request, request.on_failure)
        request.on_timeout = partial(timed_out, request, request.on_timeout)


def failed(request: Any, go_on: Callable[..., Any], exc_info: Any, **how: Any) -> Any:
    """Note a failure, then let Celery handle it: it acknowledges or rejects the
    message, unless it did so when the task began."""
    failure = failure_of(exc_info, tuple(request.task.throws or ()))
    return noted(request, failure, partial(go_on, exc_info, **how))


def timed_out(
    request: Any,
    go_on: Callable[..., Any],
    soft: bool,  # noqa: FBT001  # as Celery calls it
    timeout: float,
) -> Any:
    """The same for a task that was killed at its hard time limit."""
    limit = None if soft else Reject(f"TimeLimitExceeded: {timeout} seconds")
    return noted(request, limit, partial(go_on, soft, timeout))


def noted(request: Any, failure: Reject | None, go_on: Callable[[], Any]) -> Any:
    message = request.message
    if failure is None:
        return go_on()
    is_late = not request.acknowledged
    if is_late:  # an early acknowledgement may still be on its way: it accepts
        message.failure = failure
    try:
        return go_on()
    finally:
        if not is_late:
            message.channel.put_aside(message.delivery, failure)


@transaction.atomic
def dead_letter(delivery: Delivery, failure: Reject) -> None:
    """Make a dead letter of a message that was accepted already: put it again, and
    reject it in the same transaction."""
    message = NewMessage(
        delivery.address,
        delivery.body,
        content_type=delivery.content_type,
        properties=delivery.properties,
        priority=delivery.priority,
        durable=delivery.durable,
        message_id=delivery.client_message_id,
        correlation_id=delivery.correlation_id,
        reply_to=delivery.reply_to,
        producer=delivery.producer,
    )
    (receipt,) = put_as_given([message])
    for queue_id in receipt.queue_ids:
        end_ready(queue_id, [receipt.message_id], failure)


if HAS_CELERY:
    signals.task_received.connect(watch, dispatch_uid="backout")
