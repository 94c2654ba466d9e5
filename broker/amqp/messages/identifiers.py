"""Message ids: an id has one of four types in AMQP, and is text in JMS and in the
broker's columns.

Source:
    AMQP JMS Mapping, section 3.2.1.1, "JMSMessageID": ``ID:AMQP_UUID:`` and so on.
"""

from __future__ import annotations

import re
from uuid import UUID

from broker.amqp.protocol.types.types import ULong

ESCAPED = "ID:AMQP_"  # prefix of the text of an id that is not a plain string
STRING = f"{ESCAPED}STRING:"
TYPED = re.compile(f"{ESCAPED}(STRING|UUID|ULONG|BINARY):(.*)", re.S)
LARGEST = 2**64

Identifier = str | int | UUID | bytes  # the int is a ulong


def text_of(identifier: Identifier | None) -> str | None:
    """An id as text for a column; None if PostgreSQL cannot store it."""
    if isinstance(identifier, str):
        if "\0" in identifier:
            return None
        return STRING + identifier if identifier.startswith(ESCAPED) else identifier
    return None if identifier is None else escaped(identifier)


def escaped(identifier: int | UUID | bytes) -> str:
    if isinstance(identifier, UUID):
        return f"{ESCAPED}UUID:{identifier}"
    if isinstance(identifier, bytes):
        return f"{ESCAPED}BINARY:{identifier.hex().upper()}"
    return f"{ESCAPED}ULONG:{identifier}"


def identifier_of(text: str) -> str | ULong | UUID | bytes:
    """The id for a text. If the text has a type prefix but an invalid id, it stays a
    string."""
    found = TYPED.fullmatch(text) if text.startswith(ESCAPED) else None
    if found is None:
        return text
    kind, rest = found.groups()
    try:
        return typed(kind, rest)
    except ValueError:
        return text


def typed(kind: str, rest: str) -> str | ULong | UUID | bytes:
    """The id with this type and this text.

    Raises:
        ValueError: the text is not a valid id of that type.
    """
    if kind == "UUID":
        return UUID(rest)
    if kind == "BINARY":
        return bytes.fromhex(rest)
    if kind == "STRING":
        return rest
    if not re.fullmatch("[0-9]{1,20}", rest) or int(rest) >= LARGEST:
        raise ValueError("no ulong")
    return ULong(rest)
