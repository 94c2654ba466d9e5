"""Report messages: tell the sender, on its reply-to queue, the outcome of a message.

``report_on`` builds a report and is pure. ``send`` puts the report, in the transaction
of the event that it reports.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from broker.config.names import local_queue
from broker.errors import BrokerError
from broker.errors.messages import MissingReplyTo
from broker.errors.mq_codes import Feedback, MsgType, PutApplType, Report
from broker.errors.queues import NoSuchQueueManager
from broker.formats.error_fingerprint import fingerprint
from broker.formats.mq.chain import chain_of, with_dead_letter_header
from broker.formats.mq.descriptor import TEXTS, Descriptor, legible
from broker.formats.mq.mqdlh import Signature
from broker.formats.mq.report_options import KINDS_OF_REPORT, asks_for
from broker.models import DeadLetter, Message, Queue
from broker.queueing import mentions, notifications
from broker.queueing.arrival_expiry import applied
from broker.queueing.browse import as_delivery
from broker.queueing.get import Delivery
from broker.queueing.limits import refusal_now
from broker.queueing.store import NewMessage, Receipt, check, store
from broker.security import authorities
from broker.sql import database_now

logger = logging.getLogger(__name__)

KINDS: dict[int, Report] = {
    Feedback.EXPIRATION: Report.EXPIRATION_WITH_FULL_DATA,
    Feedback.COA: Report.COA_WITH_FULL_DATA,
    Feedback.COD: Report.COD_WITH_FULL_DATA,
}  # kinds of report by feedback; others are exceptions
HAPPENED = {
    Feedback.EXPIRATION: "expired",
    Feedback.COA: "arrived",
    Feedback.COD: "was delivered",
}
NOT_SENT = "No report says that message %s of queue %s %s: %s"
DATA = 100  # bytes of the body in a report with data
# Time to live of a report about an expiry, if the message's time to live was limited.
LAST_WORDS = timedelta(seconds=60)
OF_THE_DATA = ("format", "encoding", "coded_char_set_id")


def report_on(
    original: Delivery,
    feedback: int,
    *,
    signature: Signature,
    broker_name: str,
    now: datetime,
) -> NewMessage | None:
    """The report that a message requests; None if it requests none.

    Args:
        original: the message.
        feedback: the outcome of the message; it decides the kind of report.
        signature: the application that the report names as its sender.
        broker_name: part of the MsgId of a message whose sender set none.
        now: the current time.

    Source:
        IBM MQ, "Report (MQLONG)": with MQRO_PASS_DISCARD_AND_EXPIRY the report has the
        expiry of its message. Here a report about an expiry has a minute instead.
    """
    report, kind = options_of(original), kind_of(feedback)
    if not report & kind:
        return None
    was = Descriptor.of(original, broker_name=broker_name, now=now)
    own_name = original.client_message_id or was.jms_message_id
    descriptor: dict[str, Any] = {
        "msg_type": int(MsgType.REPORT),
        "feedback": int(feedback),
        "correl_id": was.msg_id.hex(),
        "put_appl_type": int(signature.put_appl_type),
        "put_appl_name": signature.put_appl_name[: TEXTS["put_appl_name"]],
    }
    fields: dict[str, Any] = {"correlation_id": own_name}
    if report & Report.PASS_CORREL_ID:
        descriptor["correl_id"] = was.correl_id.hex()
        fields["correlation_id"] = original.correlation_id
    if report & Report.PASS_MSG_ID:
        descriptor["msg_id"] = was.msg_id.hex()
        fields["message_id"] = own_name
    if report & Report.PASS_DISCARD_AND_EXPIRY:
        is_last = feedback == Feedback.EXPIRATION
        fields["expires_at"] = now + LAST_WORDS if is_last else original.expires_at
        if report & Report.DISCARD_MSG:
            descriptor["report"] = int(Report.DISCARD_MSG)
    plain, some = KINDS_OF_REPORT[kind]
    if (asked := report & kind) != plain:
        fields |= data_of(original, DATA if asked == some else len(original.body))
        descriptor |= described(original)
    return NewMessage(
        address=original.reply_to or "",
        priority=original.priority,
        durable=original.durable,
        descriptor=descriptor,
        **fields,
    )


def data_of(original: Delivery, most: int) -> dict[str, Any]:
    """The data of a report: the headers, and the first bytes of the body."""
    headers, body = original.headers or b"", original.body
    chain = chain_of(original.descriptor, original.content_type, headers, body)
    more = max(chain.body_offset - len(headers), 0)
    return {
        "content_type": original.content_type,
        "properties": original.properties,
        "headers": original.headers,
        "body": body[: more + most],
    }


def described(original: Delivery) -> dict[str, Any]:
    """The descriptor fields that describe the data."""
    given = legible(original.descriptor or {})
    return {name: given[name] for name in OF_THE_DATA if name in given}


def kind_of(feedback: int) -> Report:
    """All report option bits for this kind of feedback."""
    return KINDS.get(feedback, Report.EXCEPTION_WITH_FULL_DATA)


def options_of(original: Delivery) -> Report:
    return Report(legible(original.descriptor or {}).get("report", 0))


@transaction.atomic
def send(  # noqa: PLR0913  # each is named where it is used
    original: Delivery,
    feedback: int,
    *,
    signature: Signature,
    user: Any = None,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Put the report that a message requests, if any, in the open transaction.

    The report is put on the message's reply-to queue. If that queue refuses it, it is
    put on the dead letter queue, with a header that has the reason.

    Raises:
        BrokerError: the dead letter queue refuses it, too; nothing was put.
    """
    if not options_of(original) & kind_of(feedback):
        return
    moment, name = now or database_now(), settings.BROKER_NAME
    about: dict[str, Any] = {"uow": uow, "actor": actor, "now": now}
    report = report_on(
        original, feedback, signature=signature, broker_name=name, now=moment
    )
    assert report is not None, "it is asked for"
    try:
        with transaction.atomic():
            queue = reply_queue(original)
            authorities.require(user, "put", queue.name)
            put_on(queue, report, **about)
    except BrokerError as error:
        queue = local_queue(settings.BROKER_DEAD_LETTER_QUEUE)
        for authority in ("put", "passall"):
            authorities.require(user, authority, queue.name)
        dressed = dead(report, original, error, signature, moment)
        receipt = put_on(queue, dressed, **about)
        tell_why(receipt, original, error, moment)


def reply_queue(original: Delivery) -> Queue:
    """The queue for reports on a message.

    Raises:
        MissingReplyTo: the message names no reply-to queue.
        NoSuchQueueManager: it names a queue of another broker.
        NoSuchQueue: no queue has that name.
    """
    if not original.reply_to:
        raise MissingReplyTo(options_of(original))
    manager = legible(original.descriptor or {}).get("reply_to_q_mgr", "").strip()
    if manager not in ("", settings.BROKER_NAME):
        raise NoSuchQueueManager(manager, settings.BROKER_NAME)
    return local_queue(original.reply_to)


def put_on(queue: Queue, message: NewMessage, **rest: Any) -> Receipt:
    """Put a message on one queue only, even if its address feeds others.

    Raises:
        BrokerError: the queue refuses the message.
    """
    error = refusal_now(queue, message.size_bytes)
    if error is not None:
        raise error
    check([message])
    (message,) = applied(queue.address.name, [message], now=rest.get("now"))
    others = Queue.objects.filter(address=queue.address_id).exclude(pk=queue.pk)
    (receipt,) = store(
        queue.address.name,
        [message],
        looked=True,
        refusing_ids=list(others.values_list("pk", flat=True)),
        **rest,
    )
    notifications.announce_on_commit(set(receipt.queue_ids))
    return receipt


def dead(
    report: NewMessage,
    original: Delivery,
    error: BrokerError,
    signature: Signature,
    at: datetime,
) -> NewMessage:
    """The report as a message for the dead letter queue; its feedback is kept."""
    descriptor, headers = with_dead_letter_header(
        report.descriptor,
        report.headers,
        signature.header(
            error.reason, original.reply_to or "", at, settings.BROKER_NAME
        ),
        content_type=report.content_type,
    )
    return replace(report, descriptor=descriptor, headers=headers)


def tell_why(
    receipt: Receipt, original: Delivery, error: BrokerError, at: datetime
) -> None:
    """Insert the dead letter row of a report, with the reason."""
    group = fingerprint(str(error))
    named = original.reply_to or ""
    DeadLetter.objects.create(
        message_id=receipt.message_id,
        queue_id=receipt.queue_ids[0],
        cause=DeadLetter.Cause.REPORT,
        reason=int(error.reason),
        error=str(error),
        fingerprint=group.key,
        pattern=group.pattern,
        origin_address=named,
        origin_queue=named,
        origin_id=receipt.message_id,
        backout_count=0,
        resubmit_count=0,
        died_at=at,
    )


def send_all(
    feedback: Feedback,
    places: Sequence[tuple[int, int]],
    *,
    priorities: Mapping[int, int] | None = None,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Send the broker's own reports on messages; log those that cannot be sent.

    Args:
        feedback: what became of the messages.
        places: message and queue of each report; messages that ask for none are left
            out.
        priorities: of messages whose entry has another one than the message.
        uow: in which they are sent, for the journal.
        actor: for the journal.
        now: when; the database's clock when not given.
    """
    ids = {message_id for message_id, _ in places}
    rows = Message.objects.filter(descriptor__has_key="report").in_bulk(ids)
    broker = Signature(PutApplType.QMGR, settings.BROKER_NAME)
    asking = [
        (row, queue_id)
        for message_id, queue_id in places
        if (row := rows.get(message_id)) is not None
        and (feedback == Feedback.EXPIRATION or asks_for(kind_of(feedback), row))
    ]
    # All transactions put reports in this order, so that they do not deadlock.
    asking.sort(key=lambda one: (one[0].reply_to or "", one[0].pk))
    for row, queue_id in asking:
        original = as_delivery(
            row,
            queue_id=queue_id,
            backout_count=0,
            priority=(priorities or {}).get(row.pk, row.priority),
            expires_at=row.expires_at,
            pos=row.pk,
        )
        try:
            send(original, feedback, signature=broker, uow=uow, actor=actor, now=now)
        except BrokerError as error:
            name = mentions.message(row.pk, row.message_id)
            queue = mentions.queues([queue_id])
            logger.warning(NOT_SENT, name, queue, HAPPENED[feedback], error)
