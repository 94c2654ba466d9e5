"""Why a task failed: its exception and traceback, which become its dead letter's.

Celery acknowledges a task that failed, unless its settings say otherwise, and forgets
it. Here it becomes a dead letter: a person can read its error, correct its arguments,
and resubmit it. The exceptions of ``Task.throws`` are expected and are no failures; a
task that is retried is another message.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from django.db import transaction

from broker.client.celery_transport.messages import TaskMessage
from broker.formats.error_fingerprint import readable
from broker.formats.exceptions import described, is_a, path_of, text_of
from broker.formats.stack_trace import LONGEST
from broker.queueing.get import Delivery
from broker.queueing.put import put_as_given
from broker.queueing.store import NewMessage
from broker.settlement.outcomes import Reject
from broker.settlement.settle import end_ready
from broker.transactions.session import Lent

HAS_CELERY = "celery" in sys.modules or find_spec("celery") is not None
if HAS_CELERY:
    from billiard.einfo import ExceptionWithTraceback
    from billiard.exceptions import TimeLimitExceeded
    from celery import exceptions, signals
    from celery.utils.serialization import UnpickleableExceptionWrapper

logger = logging.getLogger(__name__)

# Database sessions lent to the tasks that run in this thread, by task id.
LENT = threading.local()
UNKNOWN = "The task failed; why could not be read."
NOT_NOTED = "A task of the type %s failed; why could not be read: %s"


def failure_of(exc_info: Any, throws: tuple[type[BaseException], ...]) -> Reject | None:
    """The outcome of a task that raised an exception.

    Args:
        exc_info: as the pool of the worker tells it (``billiard.einfo``).
        throws: exceptions that the task expects.

    Returns:
        None if it did not fail: it is retried, ignored, requeued or revoked.
    """
    error = exc_info.exception
    if is_a(error, ExceptionWithTraceback):  # raised in another process
        error = error.exc
    if is_a(error, exceptions.Reject):
        if error.requeue:
            return None
        return Reject(text_of(error.reason or "The task rejected its message."))
    others = exceptions.Retry, exceptions.Ignore, exceptions.Terminated
    if is_a(error, (*others, *throws)):
        return None
    stack = str(exc_info.traceback or "")[-LONGEST:]
    if not is_a(error, UnpickleableExceptionWrapper):
        stack = readable(stack, LONGEST)
        return Reject(words(error), stack=stack, exception=path_of(error))
    path, text = unwrapped(error)
    stack = readable(stack.replace(path_of(error), path), LONGEST)
    name = path.rpartition(".")[2]
    return Reject(f"{name}: {text}" if text else name, stack=stack, exception=path)


def words(error: BaseException) -> str:
    if is_a(error, TimeLimitExceeded):  # its text only repeats its class
        return exceeded(error.args[0])
    return described(error)


def exceeded(seconds: object) -> str:
    return f"TimeLimitExceeded: {text_of(seconds)} seconds"


def unwrapped(error: UnpickleableExceptionWrapper) -> tuple[str, str]:
    """The class of an exception that could not be carried from its process, and its
    text: by its arguments, as far as these could be carried."""
    path = text_of(f"{error.exc_module}.{error.exc_cls_name}")
    return path, text_of(Exception(*error.exc_args) if error.exc_args else "")


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
    try:
        failure = failure_of(exc_info, tuple(request.task.throws or ()))
    except BaseException as trouble:  # noqa: BLE001  # of foreign classes and attributes
        logger.error(NOT_NOTED, request.name, described(trouble))
        failure = Reject(UNKNOWN)
    return noted(request, failure, partial(go_on, exc_info, **how))


def timed_out(
    request: Any,
    go_on: Callable[..., Any],
    soft: bool,  # noqa: FBT001  # as Celery calls it
    timeout: float,
) -> Any:
    """As ``failed``, for a task that was killed at its hard time limit. A pool of
    processes calls ``failed`` before."""
    limit = None if soft else Reject(exceeded(timeout))
    return noted(request, limit, partial(go_on, soft, timeout))


def noted(request: Any, failure: Reject | None, go_on: Callable[[], Any]) -> Any:
    message = request.message
    if failure is None or message.has_failed:
        return go_on()
    message.has_failed = True
    is_late = not request.acknowledged
    # With a failure, the acknowledgement of a message rejects it. An early one may not
    # be handled yet, and must accept it.
    if is_late:
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


def lend_session(task_id: str = "", task: Any = None, **_: Any) -> None:
    """Receive Celery's signal ``task_prerun``. The session of an eager task is its
    caller's."""
    if not task.request.is_eager:
        vars(LENT)[task_id] = Lent.now()


def take_session_back(task_id: str = "", state: str | None = None, **_: Any) -> None:
    """Receive Celery's signal ``task_postrun``. In a pool without processes, the worker
    goes on with the session of the task."""
    lent = vars(LENT).pop(task_id, None)
    if lent is not None:
        (lent.take_back if state == "SUCCESS" else lent.drop)()


if HAS_CELERY:
    signals.task_prerun.connect(lend_session, dispatch_uid="backout")
    signals.task_postrun.connect(take_session_back, dispatch_uid="backout")
    signals.task_received.connect(watch, dispatch_uid="backout")
