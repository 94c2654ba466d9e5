"""What one client may take, at its limit and beyond; the others notice nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from broker.amqp.clients.addresses import place
from broker.amqp.limits import Counts, ListenerLimits
from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.frames import SASL, SASL_HEADER, frame
from broker.amqp.protocol.performatives import (
    SaslInit,
    SaslOutcome,
    encode_performative,
)
from tests.amqp.listening import PASSWORD, Wire, beside_a_good_client
from tests.amqp.test_identity import at_once, outcome

MOST = 3
ROUND = (MOST - 1, MOST, MOST + 1, 10 * MOST)


def is_refused(wire: Wire) -> bool:
    """Whether the listener hangs up on a connection that says hello."""
    try:
        wire.socket.sendall(SASL_HEADER)
        return wire.socket.recv(1) == b""
    except ConnectionError:
        return True


def test_limits_are_those_of_the_settings(settings: Settings) -> None:
    settings.BROKER_MAX_MESSAGE_BYTES = 5
    settings.BROKER_AMQP_MAX_SESSIONS = 6
    settings.BROKER_AMQP_PUT_CREDIT = 8

    limits = ListenerLimits.from_settings(put_credit=7)

    assert (limits.message_bytes, limits.sessions, limits.put_credit) == (5, 6, 7)


@pytest.mark.parametrize("tried", ROUND)
@pytest.mark.parametrize("limit", ["connections", "connections_per_host"])
def test_connections_are_counted_up_to_their_limit(limit: str, tried: int) -> None:
    counts = Counts(ListenerLimits.from_settings(**{limit: MOST}))

    for _ in range(min(tried, MOST)):
        counts.enter("here")
    for _ in range(tried - MOST):
        with pytest.raises(AmqpError, match=conditions.RESOURCE_LIMIT_EXCEEDED):
            counts.enter("here")

    assert counts.all == min(tried, MOST)


@pytest.mark.parametrize("tried", ROUND)
def test_connections_of_a_user_are_counted_up_to_their_limit(tried: int) -> None:
    counts = Counts(ListenerLimits.from_settings(connections_per_user=MOST))

    for _ in range(min(tried, MOST)):
        counts.enter("here")
        counts.begin_login("here")
        counts.log_in("here", 1)
    for _ in range(tried - MOST):
        counts.enter("here")
        counts.begin_login("here")
        with pytest.raises(AmqpError, match="of this user"):
            counts.log_in("here", 1)
        counts.leave("here", None)
    counts.enter("here")
    counts.begin_login("here")
    counts.log_in("here", 2)

    assert counts.users == {1: min(tried, MOST), 2: 1}


def test_whoever_leaves_makes_room_and_is_forgotten() -> None:
    counts = Counts(ListenerLimits.from_settings(connections=1, connections_per_user=1))
    for number in range(5):
        counts.enter(f"host {number}")
        counts.begin_login(f"host {number}")
        counts.log_in(f"host {number}", number)
        counts.leave(f"host {number}", number)
    counts.enter("silent")
    with pytest.raises(AmqpError):
        counts.enter("another")
    counts.leave("silent", None, had_turn=False)

    assert (counts.all, counts.waiting) == (0, 0)
    assert [*counts.hosts, *counts.waiting_hosts, *counts.users] == []


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (("192.0.2.7", 1), ("192.0.2.7", "192.0.2.7", "192.0.2.7:1")),
        (("::ffff:192.0.2.7", 1, 0, 0), ("::ffff:192.0.2.7", "192.0.2.7")),
        (("2001:db8:1:2:3::4", 1, 0, 0), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64")),
        (("fe80::1%eth0", 1, 0, 2), ("fe80::1%eth0", "fe80::/64")),
        (None, ("", "", "")),
    ],
)
def test_a_network_of_ipv6_counts_as_one_address(
    peer: Any, expected: tuple[str, ...]
) -> None:
    assert place(peer)[: len(expected)] == expected


@pytest.mark.thorough
@pytest.mark.parametrize("limit", ["connections", "connections_per_host"])
@pytest.mark.parametrize("tried", ROUND)
def test_one_connection_too_many_is_hung_up_on(
    transactional_db: None, limit: str, tried: int
) -> None:
    with beside_a_good_client(**{limit: MOST + 1}) as here:
        wires = [here.dial() for _ in range(tried)]
        assert [is_refused(one) for one in wires] == [n >= MOST for n in range(tried)]
        for wire in wires:
            wire.drop()
        here.until(lambda: here.listener.counts.all == 1)


@pytest.mark.parametrize("limit", ["before_login", "before_login_per_host"])
def test_those_who_may_not_log_in_yet_wait_for_their_turn(
    transactional_db: None, limit: str
) -> None:
    with beside_a_good_client(**{limit: MOST}) as here:
        line = here.listener.line
        silent = [here.dial() for _ in range(MOST)]
        here.until(lambda: here.listener.counts.waiting == MOST)
        herd = [here.dial() for _ in range(10 * MOST)]
        for wire in herd:
            wire.socket.sendall(at_once("amelia", PASSWORD))
        gone = here.dial()
        here.until(lambda: line.length == len(herd) + 1)
        gone.drop()

        for wire in silent:
            wire.drop()

        # Each makes room for another once it is gone.
        for wire in herd:
            assert outcome(wire) == SaslOutcome(0)
            wire.drop()
        here.until(lambda: here.listener.counts.all == 1)
        assert (line.length, here.listener.counts.waiting) == (0, 0)


def test_the_line_before_the_login_is_not_endless(transactional_db: None) -> None:
    with beside_a_good_client(before_login=1, connections=8) as here:
        silent = here.dial()
        here.until(lambda: here.listener.counts.waiting == 1)
        wires = [here.dial() for _ in range(6)]
        here.until(lambda: here.listener.line.length == 4)
        for refused in wires[4:]:
            assert is_refused(refused)
        for wire in (silent, *wires):
            wire.drop()
        here.until(lambda: here.listener.counts.all == 1)


@pytest.mark.parametrize("tried", ROUND)
def test_a_user_with_too_many_connections_is_told_so(
    transactional_db: None, tried: int
) -> None:
    User.objects.create_superuser("busy", password=PASSWORD)
    with beside_a_good_client(connections_per_user=MOST) as here:
        refused = 0
        for _ in range(tried):
            wire = here.client(user="busy", container_id="")
            if wire.connection.remote and wire.connection.remote.properties:
                refused += "amqp:connection-establishment-failed" in (
                    wire.connection.remote.properties
                )
                if refused:
                    error = wire.closed().error
                    assert error is not None
                    assert error.condition == conditions.RESOURCE_LIMIT_EXCEEDED
        assert refused == max(0, tried - MOST)


@pytest.mark.thorough
def test_whoever_does_not_log_in_and_open_in_time_is_hung_up_on(
    transactional_db: None,
) -> None:
    with beside_a_good_client(login_timeout_s=30) as here:
        silent, slow, known = here.dial(), here.dial(), here.dial()
        slow.socket.sendall(SASL_HEADER)
        known.authenticate(here.user.username, here.password)
        here.until(lambda: here.listener.counts.all == 4)

        here.later(15)
        assert here.call(lambda: here.listener.counts.all) == 4
        here.later(15)

        for wire in (silent, slow, known):
            wire.hung_up()
        here.until(lambda: here.listener.counts.all == 1)


@pytest.mark.parametrize(
    ("size", "is_welcome"), [(299, True), (300, True), (301, False), (3000, False)]
)
def test_little_is_read_before_the_login(
    transactional_db: None, size: int, is_welcome: bool
) -> None:
    with beside_a_good_client(login_bytes=300) as here:
        wire = here.dial()
        wire.socket.sendall(login_of(size))
        answer = b""
        while b"\x00SD\xc0" not in answer and (data := wire.socket.recv(8192)):
            answer += data  # up to the outcome

        assert answer.endswith(b"\x50\x00") is is_welcome


def login_of(size: int) -> bytes:
    """A login as the user ``amelia``, of so many bytes."""
    response = f"\0amelia\0{PASSWORD}".encode()
    bare = SASL_HEADER + frame(0, encode_performative(init(response, "")), kind=SASL)
    for length in range(size - len(bare), 0, -1):
        body = encode_performative(init(response, "x" * length))
        data = SASL_HEADER + frame(0, body, kind=SASL)
        if len(data) == size:
            return data
    raise AssertionError(f"no login has {size} bytes")


def init(response: bytes, hostname: str) -> SaslInit:
    return SaslInit("PLAIN", response, hostname)
