"""What every handler does, and where it notes that it ran."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

from django.db import connection

NOTES = "BENCH_NOTES"  # environment variable: the file of notes
NOTE = struct.Struct("dd")
INSERT = "INSERT INTO bench_row (body) VALUES (%s)"
MOST_ATTEMPTS = 1024
SIZE = 1024  # of a message's body, in bytes


class Note(NamedTuple):
    """That a handler ran: when, and when its message was sent; in seconds."""

    at: float
    sent: float


def body() -> bytes:
    """The time, and as many bytes as a message has."""
    return repr(time.time()).encode().ljust(SIZE)


def note(sent: bytes | str) -> None:
    """Write one note; other processes write to the same file."""
    file = os.open(os.environ[NOTES], os.O_WRONLY | os.O_APPEND)
    os.write(file, NOTE.pack(time.time(), float(sent)))
    os.close(file)


def begin(sent: bytes | memoryview, backouts: int) -> int:
    """Note that an attempt begins, of a message whose body is a number; return it."""
    number = int(bytes(sent))
    note(str(number + backouts / MOST_ATTEMPTS))
    return number


def attempt(one: Note) -> tuple[int, int]:
    """The number of a message, and the backout count that it had."""
    number = int(one.sent)
    return number, round((one.sent - number) * MOST_ATTEMPTS)


def is_poison(number: int) -> bool:
    return number % 20 == 0


def write_a_row(sent: bytes | str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [str(sent)[:20]])


def notes(file: Path) -> list[Note]:
    """All notes, by time."""
    return sorted(Note(*one) for one in NOTE.iter_unpack(file.read_bytes()))
