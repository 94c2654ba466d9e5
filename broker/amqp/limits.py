"""Limits of a listener: for one client, and for all clients together.

A value is the largest that is allowed. The values come from the settings
``BROKER_AMQP_…``; they are passed on as one object, so that tests can use small ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings

from broker.amqp.protocol.conditions import RESOURCE_LIMIT_EXCEEDED, AmqpError
from broker.amqp.protocol.limits import Limits

ELSEWHERE = {  # limits that are settings of the whole broker
    "message_bytes": "BROKER_MAX_MESSAGE_BYTES",
}


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """The limits of one listener process.

    Attributes:
        connections: connections at once.
        connections_per_user: connections logged in as one user.
        connections_per_host: connections from one address.
        before_login: connections that log in at once; further ones wait for their turn.
        before_login_per_host: the same from one address.
        login_timeout_s: time from the connect to the open.
        login_bytes: bytes that a client may send before the login.
        failures_per_host: failed passwords from one address in a minute.
        failures_per_name: the same for one name from one address.
        sessions: sessions of a connection.
        endpoints: links of a connection.
        frame_bytes: size of a frame.
        idle_timeout_s: silence after which a client counts as lost.
        max_in_flight: unsettled entries of one sender.
        max_in_flight_bytes: unsettled bytes of all senders of a connection.
        partial_bytes: bytes of partly received messages of a connection.
        unsent_bytes: bytes buffered for the socket; above it no message is dispatched.
        put_credit: messages that a client may send before the first is stored.
        message_bytes: size of one message.
        transaction_messages: put and settled in one transaction.
        transaction_bytes: bytes put in one transaction.
        transaction_age_s: time from declare to discharge.
    """

    connections: int
    connections_per_user: int
    connections_per_host: int
    before_login: int
    before_login_per_host: int
    login_timeout_s: float
    login_bytes: int
    failures_per_host: int
    failures_per_name: int
    sessions: int
    endpoints: int
    frame_bytes: int
    idle_timeout_s: float
    max_in_flight: int
    max_in_flight_bytes: int
    partial_bytes: int
    unsent_bytes: int
    put_credit: int
    message_bytes: int
    transaction_messages: int
    transaction_bytes: int
    transaction_age_s: float

    @classmethod
    def from_settings(cls, **others: Any) -> ListenerLimits:
        """The limits of the settings; ``others`` override them by field."""
        said = {
            one.name: getattr(settings, setting_of(one.name)) for one in fields(cls)
        }
        return cls(**said | others)

    def of_protocol(self) -> Limits:
        """The limits that the protocol engine enforces for each connection."""
        return Limits(
            max_frame_size=self.frame_bytes,
            channel_max=min(max(self.sessions, 1), 65_536) - 1,
            sessions=self.sessions,
            handles=self.endpoints,
            links=self.endpoints,
            max_message_bytes=self.message_bytes,
            partial_bytes=self.partial_bytes,
        )


def setting_of(field: str) -> str:
    return ELSEWHERE.get(field, f"BROKER_AMQP_{SETTINGS.get(field, field.upper())}")


SETTINGS = {  # names of settings that differ from the name of the field
    "connections": "MAX_CONNECTIONS",
    "connections_per_user": "MAX_CONNECTIONS_PER_USER",
    "connections_per_host": "MAX_CONNECTIONS_PER_HOST",
    "before_login": "MAX_BEFORE_LOGIN",
    "before_login_per_host": "MAX_BEFORE_LOGIN_PER_HOST",
    "failures_per_host": "MAX_LOGIN_FAILURES_PER_HOST",
    "failures_per_name": "MAX_LOGIN_FAILURES_PER_NAME",
    "sessions": "MAX_SESSIONS",
    "endpoints": "MAX_ENDPOINTS",
    "frame_bytes": "MAX_FRAME_BYTES",
    "partial_bytes": "MAX_PARTIAL_BYTES",
    "unsent_bytes": "MAX_UNSENT_BYTES",
    "transaction_messages": "MAX_TRANSACTION_MESSAGES",
    "transaction_bytes": "MAX_TRANSACTION_BYTES",
    "transaction_age_s": "MAX_TRANSACTION_AGE_S",
}


class Counts:
    """Counts of connections by address and user; for the loop's thread.

    Each connection enters once, begins its login and logs in at most once, and leaves
    once.
    """

    def __init__(self, limits: ListenerLimits) -> None:
        self.limits = limits
        self.all = 0
        self.waiting = 0  # connections that log in now
        self.hosts: Counter[str] = Counter()
        self.waiting_hosts: Counter[str] = Counter()
        self.users: Counter[int] = Counter()

    def enter(self, host: str) -> None:
        """Count a new connection.

        Raises:
            AmqpError: there are too many connections; the new one is not counted.
        """
        limits = self.limits
        for count, most, which in (
            (self.all, limits.connections, "in all"),
            (self.hosts[host], limits.connections_per_host, f"from {host}"),
        ):
            if count >= most:
                self.forget_nobody(host)
                raise too_many(most, which)
        self.all += 1
        self.hosts[host] += 1

    def may_log_in(self, host: str) -> bool:
        """Whether one more connection from this host may begin its login."""
        return (
            self.waiting < self.limits.before_login
            and self.waiting_hosts[host] < self.limits.before_login_per_host
        )

    def begin_login(self, host: str) -> None:
        self.waiting += 1
        self.waiting_hosts[host] += 1

    def log_in(self, host: str, user_id: int) -> None:
        """Count a connection for its user, and no longer as waiting for its login.

        Raises:
            AmqpError: the user has too many connections; this one still counts as
                waiting.
        """
        most = self.limits.connections_per_user
        if self.users[user_id] >= most:
            raise too_many(most, "of this user")
        self.users[user_id] += 1
        self.stop_waiting(host)

    def leave(self, host: str, user_id: int | None, *, had_turn: bool = True) -> None:
        """Uncount a connection; ``user_id`` is None if it never logged in, ``had_turn``
        is false if it did not begin its login either."""
        self.all -= 1
        self.hosts[host] -= 1
        if user_id is None:
            if had_turn:
                self.stop_waiting(host)
        else:
            self.users[user_id] -= 1
            drop_zero(self.users, user_id)
        self.forget_nobody(host)

    def stop_waiting(self, host: str) -> None:
        self.waiting -= 1
        self.waiting_hosts[host] -= 1
        drop_zero(self.waiting_hosts, host)

    def forget_nobody(self, host: str) -> None:
        drop_zero(self.hosts, host)
        drop_zero(self.waiting_hosts, host)


def drop_zero(counts: Counter[Any], key: object) -> None:
    """Delete a counter that is zero, so that old addresses do not accumulate."""
    if not counts[key]:
        del counts[key]


def too_many(most: int, which: str) -> AmqpError:
    return AmqpError(
        RESOURCE_LIMIT_EXCEEDED, f"There are {most} connections {which} already."
    )
