"""Decodes the MQMD and the header chain before the body of an IBM MQ message.

The bytes are untrusted. What cannot be decoded is shown as hexadecimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.translation import gettext, gettext_noop

from broker.errors.messages import MalformedHeader
from broker.formats.mq.chain import chain_of
from broker.formats.mq.describing import Section, describe, describe_descriptor
from broker.formats.mq.descriptor import Descriptor
from broker.models import Message
from console.bodies.viewers import LAID_OUT, octets

TOO_LONG = gettext_noop(
    "They are too long to be decoded here. Download them to see what is in them."
)


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """The fields of a message that ``Descriptor.of`` needs."""

    message_id: int
    client_message_id: str | None
    backout_count: int
    priority: int
    durable: bool
    put_at: datetime
    expires_at: datetime | None
    reply_to: str | None
    correlation_id: str | None
    group_id: str | None
    content_type: str
    descriptor: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Headers:
    """The decoded headers of a message, for a page."""

    descriptor: Section
    # one section for each header that can be read, in the order of the bytes
    sections: list[Section]
    size: int  # the length of all headers, in bytes
    error: MalformedHeader | None = None
    rest: str = ""  # the first bytes that cannot be decoded
    # where ``rest`` begins, in bytes from the start of the headers
    rest_offset: int = 0
    notice: str = ""  # why ``rest`` is not decoded

    @property
    def rest_lines(self) -> list[str]:
        return self.rest.splitlines()

    @property
    def names(self) -> str:
        found = [self.descriptor.name, *(one.name for one in self.sections)]
        return ", ".join(found)


def decoded(
    message: Message, backout_count: int, head: bytes | None, now: datetime
) -> Headers | None:
    """The descriptor and headers of a message; None if it has neither.

    Args:
        message: with its ``headers_size``.
        backout_count: the entry's.
        head: headers and beginning of the body; None if the user may not read them.
        now: start of the remaining time to live.
    """
    size = getattr(message, "headers_size", 0) or 0
    if not message.descriptor and not size:
        return None
    whole = Descriptor.of(
        described(message, backout_count), broker_name=settings.BROKER_NAME, now=now
    )
    section = describe_descriptor(whole)
    if head is None:
        return Headers(section, [], size)
    if size > LAID_OUT:
        return Headers(section, [], size, notice=gettext(TOO_LONG))
    chain = chain_of(message.descriptor, message.content_type, head)
    undecoded = gettext("%(format)s is not decoded here.")
    return Headers(
        section,
        describe(chain)[: len(chain.headers)],
        size,
        chain.error,
        "" if chain.is_whole else octets(chain.rest),
        chain.body_offset,
        "" if chain.is_whole else undecoded % {"format": chain.body.format},
    )


def described(message: Message, backout_count: int) -> MessageFacts:
    return MessageFacts(
        message.pk,
        message.message_id,
        backout_count,
        message.priority,
        message.durable,
        message.put_at,
        message.expires_at,
        message.reply_to,
        message.correlation_id,
        message.group_id,
        message.content_type,
        message.descriptor,
    )
