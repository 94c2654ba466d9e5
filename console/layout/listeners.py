"""AMQP listeners: their addresses, and whether one runs."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from django.conf import settings

from broker.amqp import ports
from broker.models import Owner

KIND = "listener"  # the kind of an owner that is a listener


@dataclass(frozen=True, slots=True)
class Door:
    """One configured listening address for AMQP 1.0."""

    host: str
    port: int
    is_encrypted: bool

    @property
    def url(self) -> str:
        scheme = "amqps" if self.is_encrypted else "amqp"
        return ports.url(scheme, self.host, self.port)


def doors() -> list[Door]:
    """The listening addresses of these settings; with TLS first."""
    host = reachable(settings.BROKER_AMQP_HOST)
    plain = Door(host, settings.BROKER_AMQP_PORT, is_encrypted=False)
    if not settings.BROKER_AMQP_CERTIFICATE:
        return [plain]
    return [Door(host, settings.BROKER_AMQPS_PORT, is_encrypted=True), plain]


def reachable(host: str) -> str:
    """The host to connect to; this machine if a listener binds every address."""
    try:
        is_every = not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:  # the host is a name
        return host
    return socket.gethostname() if is_every else host


def is_open() -> bool:
    """Whether any listener runs, on this machine or another."""
    return Owner.objects.filter(kind=KIND).exists()
