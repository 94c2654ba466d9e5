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


def write_a_row(sent: bytes | str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [str(sent)[:20]])


def notes(file: Path) -> list[Note]:
    """All notes, by time."""
    return sorted(Note(*one) for one in NOTE.iter_unpack(file.read_bytes()))
