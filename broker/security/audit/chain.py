"""Verify the hash chain of the audit: each record, and its link to the record before
it.

The hash is computed here, not by the database's function that wrote it: the check must
be independent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from broker.formats import moments
from broker.models import AuditCheck, AuditRecord

BEFORE_ALL = "0" * 64  # the hash that the first record continues
AT_ONCE = 2000  # most records in memory


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain at some time. It later proves that all records up to this
    end are unchanged."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Head:
        """Parse the text of a head.

        Raises:
            ValueError: the text is not a head.
        """
        number, _, digest = text.strip().partition(":")
        if not number.isdecimal() or len(digest) != 64 or not is_hexadecimal(digest):
            raise ValueError(f"{text!r} is no head: a number, a colon and 64 digits")
        return cls(int(number), digest.lower())


NOTHING = Head(0, BEFORE_ALL)


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first record at which the chain is broken, and what this means, as a
    sentence."""

    number: int
    sentence: str


def verify(
    kept: Head | None = None, *, database: str = "default"
) -> tuple[Head, ChainFault | None]:
    """Verify every record, in order.

    Args:
        kept: an earlier head, stored out of reach of those who can change the database.
        database: the alias of the connection.

    Returns:
        The last valid head, and the fault of the next record, if there is one.
    """
    head = NOTHING
    chained = AuditRecord.objects.using(database).filter(number__isnull=False)
    for one in chained.order_by("number").iterator(chunk_size=AT_ONCE):
        fault = fault_of(one, head)
        if fault is not None:
            return head, fault
        head = Head(head.number + 1, one.hash or "")
        if kept is not None and head.number == kept.number and head != kept:
            return head, ChainFault(
                head.number,
                f"Record {head.number} is not the one that was kept: it, or any before"
                " it, was replaced, and the chain was made anew.",
            )
    if kept is not None and head.number < kept.number:
        return head, ChainFault(
            head.number + 1,
            f"The chain ends at record {head.number}; the one that was kept has"
            f" {kept.number}. What came after was taken away.",
        )
    return head, unchained(chained.model.objects.using(database), head)


def fault_of(one: AuditRecord, head: Head) -> ChainFault | None:
    """The fault of the record after a head; None if it is valid."""
    expected = head.number + 1
    if one.number != expected:
        return ChainFault(
            expected,
            f"Record {expected} is missing: the next that is there is {one.number}."
            " It was taken away, or its number was changed.",
        )
    if one.hash != digest(one, head.hash):
        return ChainFault(
            expected,
            f"Record {expected} is not what was written: it was changed, put in, or"
            " put in another's place, or the one before it was taken away.",
        )
    return None


def unchained(records: QuerySet[AuditRecord], head: Head) -> ChainFault | None:
    """The fault of a record that was committed without the trigger of the chain."""
    for one in records.filter(number=None).order_by("pk")[:1]:
        return ChainFault(
            head.number + 1,
            f"A record of {moments.in_utc(one.at)} has no place in the chain: it"
            " was put in while the database was kept from chaining.",
        )
    return None


def digest(one: AuditRecord, before: str) -> str:
    """The hash of a record, as ``docs/audit.md`` describes it."""
    text = "".join(f"{len(part.encode())}:{part}," for part in parts(one, before))
    return hashlib.sha256(text.encode()).hexdigest()


def parts(one: AuditRecord, before: str) -> Iterator[str]:
    """The parts of a record that are hashed, in order."""
    yield before
    yield str(one.number)
    yield one.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    yield one.actor_kind
    yield "" if one.actor_id is None else str(one.actor_id)
    yield one.actor
    yield one.source
    yield one.act
    yield one.object_kind
    yield one.object_id
    yield one.object_name
    yield one.outcome
    yield one.reason
    yield one.detail
    yield "" if one.operation_id is None else str(one.operation_id)


def check(kept: Head | None = None) -> AuditCheck:
    """Verify the chain, and store the result for the pages of the console."""
    with transaction.atomic():  # a server-side cursor needs a transaction
        head, fault = verify(kept)
    found, _ = AuditCheck.objects.update_or_create(
        pk=1,
        defaults={
            "number": head.number,
            "hash": head.hash,
            "checked_at": Now(),
            "fault": "" if fault is None else fault.sentence,
        },
    )
    found.refresh_from_db()
    return found


def last_check() -> AuditCheck | None:
    return AuditCheck.objects.filter(pk=1).first()


def is_hexadecimal(text: str) -> bool:
    return all(one in "0123456789abcdefABCDEF" for one in text)
