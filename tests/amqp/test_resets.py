"""Clients that reset their connections: nothing stays counted, nothing is logged."""

from __future__ import annotations

import logging
import socket
import struct

import pytest

from tests.amqp.course import Course
from tests.amqp.listening import PASSWORD, Listening

pytestmark = pytest.mark.thorough

RESET = struct.pack("ii", 1, 0)
TIMES = 30


def test_clients_that_reset_right_after_their_open_are_not_counted_for_ever(
    here: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    here.client().close()  # so that the password is known
    course = Course(here.user.username, PASSWORD, "orders")
    said = b"".join([*course.log_in(), *course.open(), *course.begin()])
    for _ in range(TIMES):
        with socket.create_connection((here.host, here.port), timeout=10) as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            made.sendall(said)
            assert made.recv(1), "it has read what was said"

    here.until(lambda: not here.listener.clients)

    counts = here.listener.counts
    assert (counts.all, counts.waiting) == (0, 0)
    assert not counts.users
    assert not here.listener.principals.known
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []
