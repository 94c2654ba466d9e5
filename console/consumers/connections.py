"""Connections of clients, as a user may see and close them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone

from broker.models import ClientConnection, Owner
from broker.monitoring import connections as clients
from broker.monitoring.connections import ClientQuery, Connected
from broker.security import authorities
from console.edges import denials
from console.layout import pagination
from console.queues.queue_consumers import process_of

LISTENERS_ANSWER_WITHIN = timedelta(seconds=5)

LONGEST_TEXT = 200  # characters of a search text


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """A client as a page shows it."""

    client: Connected
    owner: Owner | None
    now: datetime

    @property
    def process(self) -> str:
        return process_of(self.owner)

    @property
    def is_closing(self) -> bool:
        """Whether a close of the client, or of one of its endpoints, is requested."""
        is_any_closing = any(one.close_requested_at for one in self.client.endpoints)
        return is_any_closing or self.client.connection.close_requested_at is not None

    @property
    def is_late(self) -> bool:
        """Whether the listener should have closed the connection by now."""
        asked = self.client.connection.close_requested_at
        return asked is not None and asked < self.now - LISTENERS_ANSWER_WITHIN

    @property
    def more(self) -> int:
        """The number of endpoints that the list does not show."""
        return self.client.used.endpoints - len(self.client.endpoints)


def find_connection(
    request: HttpRequest,
    connection_id: int,
    *,
    after: int = 0,
    limit: int = clients.ENDPOINTS,
) -> ConnectionRow | None:
    """A client that the user may see, with some of its endpoints; None if it has ended,
    or is hidden from the user."""
    if connection_id > pagination.LARGEST or after >= pagination.LARGEST:
        return None
    wanted = ClientQuery(ids=[connection_id], endpoints_after=after, endpoints=limit)
    rows = rows_of(clients.connections(request.user, wanted))
    if rows:
        return rows[0]
    if ClientConnection.objects.filter(pk=connection_id).exists():
        lacks = authorities.refusal(request.user, "inquire", clients.EVERY_QUEUE)
        denials.note(request, lacks)
    return None


def rows_of(found: list[Connected]) -> list[ConnectionRow]:
    owners = Owner.objects.in_bulk({one.connection.owner_id for one in found})
    now = timezone.now()
    return [
        ConnectionRow(one, owners.get(one.connection.owner_id), now) for one in found
    ]
