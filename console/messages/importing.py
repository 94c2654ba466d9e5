"""Import of messages from a file: the whole file is checked before any is put."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from django.conf import settings

from broker.errors import InvalidMessage, MessageTooLarge
from broker.queueing import message_files
from broker.queueing.put import NewMessage, put_as_given
from broker.queueing.store import check
from broker.security import authorities
from broker.security.authorities import Principal

ALL_ELSE = 16 * 2**20  # the most bytes of a line, without the body
BATCH = 200  # messages in memory at once
SHOWN = 20  # most bad lines that are kept
Refusal = InvalidMessage | MessageTooLarge


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no message, and why."""

    number: int
    error: Refusal

    def __str__(self) -> str:
        line, why = f"line {self.number}", getattr(self.error, "why", str(self.error))
        return why if why.startswith(line) else f"{line}: {why}"


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The contents of a file, counted. It is imported as a whole, or not."""

    messages: int  # number of lines that are messages
    addresses: Sequence[str]
    bad: int  # number of lines that are no messages
    first_bad: Sequence[BadLine]


def check_file(file: BinaryIO, to: str | None, user: Principal) -> CheckedFile:
    """Check all lines of a file.

    Args:
        file: one message in each line.
        to: the address for all messages; None: each goes to its own.
        user: who will put them.

    Raises:
        NotAuthorized: ``put`` is missing on one of the addresses.
    """
    addresses: set[str] = set()
    first_bad: list[BadLine] = []
    messages = bad = 0
    for one in lines_of(file, to, user):
        if isinstance(one, NewMessage):
            addresses.add(one.address)
            messages += 1
        else:
            bad += 1
            first_bad += [one] * (bad <= SHOWN)
    authorities.require(user, "put", *sorted(addresses))
    return CheckedFile(messages, sorted(addresses), bad, first_bad)


def read(file: BinaryIO, to: str | None, user: Principal) -> Iterator[NewMessage]:
    """The messages of a file; the arguments are those of ``check_file``.

    Raises:
        InvalidMessage, MessageTooLarge: a line is not a valid message.
    """
    for one in lines_of(file, to, user):
        if not isinstance(one, NewMessage):
            raise one.error
        yield one


def lines_of(
    file: BinaryIO, to: str | None, user: Principal
) -> Iterator[NewMessage | BadLine]:
    """The message of each line, or what is wrong with the line. After a line that is
    too long, the rest is not read.

    Without the authority ``passall`` on its address, the user is a message's producer.
    """
    held = authorities.held_by(user)
    most = longest_line()
    for number, line in enumerate(iter(lambda: file.readline(most + 1), b""), 1):
        if len(line) > most:
            why = f"line {number} is longer than {most:,} bytes"
            yield BadLine(number, InvalidMessage(why))
            return
        if line.strip():
            try:
                one = message_files.read(line, where=f"line {number}")
                one = replace(one, address=to) if to else one
                if not held.on("passall", one.address):
                    one = replace(one, producer=authorities.name_of(user))
                check([one])
            except (InvalidMessage, MessageTooLarge) as error:
                yield BadLine(number, error)
            else:
                yield one


def longest_line() -> int:
    """The most bytes that one message may have in a file: six for each byte of its
    body, as JSON writes control characters, and some for all else."""
    return 6 * int(settings.BROKER_MAX_MESSAGE_BYTES) + ALL_ELSE


def put(
    messages: Iterable[NewMessage],
    actor: str,
    put_so_far: Callable[[int], object] = lambda _: None,
) -> int:
    """Put messages in batches, in order; return how many.

    Args:
        messages: as they were read.
        actor: who puts them, for the journal.
        put_so_far: called with the size of each batch that was put.
    """
    left = iter(messages)
    done = 0
    while part := list(islice(left, BATCH)):
        put_as_given(part, actor=actor)
        done += len(part)
        put_so_far(len(part))
    return done
