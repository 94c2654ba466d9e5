"""Names within a bridge, and reserved names."""

from __future__ import annotations

from django.core.exceptions import ValidationError

# Provider of a connection factory that stands for this broker.
THIS_BROKER = "this-broker"
BUILT_IN_DMQ = "built-in-dmq"
# Name of the built-in dead message queue of this broker.
BUILT_IN_QUEUE = "imq.bridge.jms.dmq"
AS_SOURCE = "AS_SOURCE"
RESUBMITS = "bridge."  # prefix of the names of links' resubmit queues
# Property of a dead message: the link that could not transfer it.
LINK_PROPERTY = "_BRK_LINK"
# Property of a notice: what is known of the message that the notice is about
# (``broker.bridges.batch.Notice``).
NOTICE_PROPERTY = "_BRK_LINK_NOTICE"
# Dead messages with one of these reasons are always notices: messages about a transfer,
# which must not be sent in the place of the message.
NOTICES = (
    *("ACK_FAILURE", "COMMIT_FAILURE"),
    *("FIRST_TRANSFORMER_NOTRANSFER", "FIRST_TRANSFORMER_BRANCHTO"),
)
RESERVED = (BUILT_IN_DMQ, BUILT_IN_QUEUE, AS_SOURCE)


def check_name(name: str) -> None:
    """Refuse a name that is reserved, or that looks like another name.

    Raises:
        ValidationError: the name is not allowed.

    Source:
        Open MQ, Administration Guide: reserved names of JMS bridges.
    """
    if name.strip().lower() in {one.lower() for one in RESERVED}:
        raise ValidationError(
            f"{name!r} is reserved for the bridge itself. Take another name."
        )
    if not name.isprintable() or name != name.strip() or "/" in name:
        raise ValidationError(
            "A name has no slash, no blank at its ends, and no character that cannot be"
            " seen. Take another name."
        )
