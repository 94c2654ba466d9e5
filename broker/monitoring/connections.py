"""AMQP connections: list them, and ask a listener to close one.

A listener records its connections once a second, and then reads which connections an
operator wants closed. The functions here do not wait for the listener.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.postgres.aggregates import ArrayAgg
from django.db import transaction
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    Window,
)
from django.db.models.functions import Coalesce, Now, RowNumber

from broker.models import Act, ClientConnection, ClientEndpoint, Queue
from broker.security import audit, authorities
from broker.security.authorities import GrantedAuthorities, Principal

CONNECTIONS = 25  # connections on a page
ENDPOINTS = 20  # endpoints shown of each connection
OF_CONNECTIONS = ("container_id", "host", "product", "mechanism", "credential__name")
OF_ENDPOINTS = ("name", "node", "queue__name")
PEOPLE = ("user", "credential", "close_requested_by")
EVERY_QUEUE = "#"


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """A search for connections.

    ``text`` is part of a name of the client or of one of its endpoints; ``ids`` are
    ids of connections. A list begins after the connection ``after``, and the endpoints
    of each after ``endpoints_after``.
    """

    text: str = ""
    ids: Sequence[int] | None = None
    after: int = 0
    limit: int = CONNECTIONS
    endpoints_after: int = 0
    endpoints: int = ENDPOINTS


@dataclass(frozen=True, slots=True)
class Used:
    """The number of endpoints and sessions that a client has open, and of their
    messages.

    Endpoints that the user may not see are only counted, as ``hidden``.
    """

    endpoints: int = 0
    hidden: int = 0
    sessions: int = 0
    unsettled: int = 0
    messages: int = 0
    nodes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Connected:
    """A client and the first of its endpoints; the data are at most about a second
    old."""

    connection: ClientConnection
    endpoints: Sequence[ClientEndpoint]
    used: Used
    may_close: bool  # whether the user may set each queue that the client uses
    closable: frozenset[int]  # ids of the endpoints that the user may close


@dataclass(frozen=True, slots=True)
class Sight:
    """The clients and endpoints that a user may see."""

    user: Principal
    held: GrantedAuthorities
    # Names of nodes whose endpoints the user may see; None: all.
    nodes: Collection[str] | None

    @property
    def endpoints(self) -> Q:
        return Q() if self.nodes is None else Q(node__in=["", *self.nodes])

    @property
    def connections(self) -> Q:
        """The user's own connections, and those with an endpoint on a queue that the
        user may inquire."""
        if self.nodes is None:
            return Q()
        known = ClientEndpoint.objects.filter(connection=OuterRef("pk"))
        is_own = Q(user=self.user.pk) if self.user is not None else Q()
        return is_own | Q(Exists(known.filter(node__in=self.nodes)))


def connections(user: Principal, wanted: ClientQuery | None = None) -> list[Connected]:
    """The connections that a user may see, the oldest first. Seven queries at most.

    These are the user's own connections, and those that use a queue which the user may
    inquire. Only endpoints on such queues are listed. With a search text, the endpoints
    that contain it come first.
    """
    wanted = wanted or ClientQuery()
    sight = sight_of(user)
    rows = ClientConnection.objects.filter(sight.connections, pk__gt=wanted.after)
    if wanted.ids is not None:
        rows = rows.filter(pk__in=wanted.ids)
    if wanted.text:
        own = ClientEndpoint.objects.filter(sight.endpoints, connection=OuterRef("pk"))
        names = Exists(own.filter(naming(wanted.text, OF_ENDPOINTS)))
        fields = (*OF_CONNECTIONS, f"user__{get_user_model().USERNAME_FIELD}")
        rows = rows.filter(naming(wanted.text, fields) | Q(names))
    found = rows.select_related(*PEOPLE).order_by("pk")[: wanted.limit]
    return with_endpoints(list(found), sight, wanted)


def count(user: Principal) -> int:
    """The number of clients that a user may see."""
    return ClientConnection.objects.filter(sight_of(user).connections).count()


def close_connection(
    connection_id: int, user: Principal, *, reason: str = ""
) -> datetime | None:
    """Ask the listener of a client to close its connection.

    Args:
        connection_id: id of the ``ClientConnection``.
        user: the user, who needs the authority ``set`` for each queue that the client
            uses.
        reason: text that the audit records.

    Returns:
        The time at which the close was first requested; None if the client is gone.

    Raises:
        NotAuthorized: the close was not requested.
    """
    rows = ClientConnection.objects.filter(pk=connection_id)
    with transaction.atomic():
        if rows.exists():
            require_set(user, ClientEndpoint.objects.filter(connection=connection_id))
        return ask(rows, user, Act.CLOSE_CONNECTION, reason)


def close_endpoint(
    endpoint_id: int, user: Principal, *, reason: str = ""
) -> datetime | None:
    """Ask the listener to close one endpoint of a client, and keep the others open.

    Args:
        endpoint_id: id of the ``ClientEndpoint``.
        user: the user, who needs the authority ``set`` for the queues of the endpoint;
            if the endpoint has no queue, for all queues of its connection.
        reason: text that the audit records.

    Returns:
        The time at which the close was first requested; None if the endpoint is gone.

    Raises:
        NotAuthorized: the close was not requested.
    """
    rows = ClientEndpoint.objects.filter(pk=endpoint_id)
    with transaction.atomic():
        if (one := rows.first()) is not None:
            every = ClientEndpoint.objects.filter(connection=one.connection_id)
            require_set(user, rows if one.node else every)
        return ask(rows, user, Act.CLOSE_ENDPOINT, reason)


def require_set(user: Principal, endpoints: QuerySet[ClientEndpoint]) -> None:
    nodes = endpoints.exclude(node="").values_list("node", flat=True).distinct()
    behind = queues_behind(nodes)
    names = {name for queues in behind.values() for name in queues}
    authorities.require_on_all(user, "set", *(sorted(names) or [EVERY_QUEUE]))


def ask(rows: QuerySet[Any], user: Principal, act: Act, reason: str) -> datetime | None:
    """Record the request to close, unless an earlier request is recorded."""
    asked = None if user is None else user.pk
    rows.filter(close_requested_at=None).update(
        close_requested_at=Now(), close_requested_by=asked
    )
    one = rows.first()
    if one is None:
        return None
    audit.record(act, one, by=user, reason=reason)
    since: datetime | None = one.close_requested_at
    return since


def sight_of(user: Principal) -> Sight:
    held = authorities.held_by(user)
    if held.everywhere("inquire"):
        return Sight(user, held, None)
    nodes = ClientEndpoint.objects.exclude(node="").values_list("node", flat=True)
    behind = queues_behind(nodes.distinct())
    return Sight(user, held, [node for node in behind if may_see(held, behind[node])])


def may_see(held: GrantedAuthorities, queues: Iterable[str]) -> bool:
    return any(held.on("inquire", name) for name in queues)


def may_set(held: GrantedAuthorities, queues: Collection[str]) -> bool:
    return all(held.on("set", name) for name in queues or [EVERY_QUEUE])


def queues_behind(nodes: Iterable[str]) -> dict[str, frozenset[str]]:
    """The queues of each node: the queue of that name, or the queues of the address.

    One query. A node without a queue counts as a queue with the node's name, as a queue
    of this name may be created later.
    """
    behind: dict[str, set[str]] = {node: set() for node in nodes}
    known = Q(name__in=list(behind)) | Q(address__name__in=list(behind))
    rows = Queue.objects.filter(known).values_list("name", "address__name")
    for name, address in rows if behind else ():
        for node in {name, address} & behind.keys():
            behind[node].add(name)
    return {node: frozenset(queues or {node}) for node, queues in behind.items()}


def naming(text: str, fields: Iterable[str]) -> Q:
    """A condition that is true if one of the fields contains the text."""
    return reduce(or_, (Q(**{f"{one}__icontains": text}) for one in fields))


def with_endpoints(
    found: Sequence[ClientConnection], sight: Sight, wanted: ClientQuery
) -> list[Connected]:
    ids = [one.pk for one in found]
    used = used_by(ids, sight)
    shown: Mapping[int, list[ClientEndpoint]] = defaultdict(list)
    for endpoint in first_endpoints(ids, sight, wanted):
        shown[endpoint.connection_id].append(endpoint)
    behind = queues_behind({node for one in used.values() for node in one.nodes})
    nothing = Used()
    return [
        connected(one, shown[one.pk], used.get(one.pk, nothing), sight.held, behind)
        for one in found
    ]


def connected(
    one: ClientConnection,
    endpoints: Sequence[ClientEndpoint],
    used: Used,
    held: GrantedAuthorities,
    behind: Mapping[str, frozenset[str]],
) -> Connected:
    every = frozenset(name for node in used.nodes for name in behind[node])
    return Connected(
        connection=one,
        endpoints=endpoints,
        used=used,
        may_close=may_set(held, every),
        closable=frozenset(
            endpoint.pk
            for endpoint in endpoints
            if may_set(held, behind.get(endpoint.node, every))
        ),
    )


def used_by(ids: Sequence[int], sight: Sight) -> dict[int, Used]:
    """The numbers of open endpoints and sessions of each connection, by connection
    id."""
    seen = sight.endpoints
    rows = (
        ClientEndpoint.objects.filter(connection__in=ids)
        .order_by()
        .values("connection_id")
        .annotate(
            every=Count("pk"),
            endpoints=Count("pk", filter=seen),
            sessions=Count("session", distinct=True),
            unsettled=Coalesce(Sum("unsettled", filter=seen), Value(0)),
            messages=Coalesce(Sum("messages", filter=seen), Value(0)),
            nodes=ArrayAgg("node", distinct=True, filter=~Q(node=""), default=[]),
        )
    )
    return {
        row["connection_id"]: Used(
            endpoints=row["endpoints"],
            hidden=row["every"] - row["endpoints"],
            sessions=row["sessions"],
            unsettled=row["unsettled"],
            messages=row["messages"],
            nodes=row["nodes"],
        )
        for row in rows
    }


def first_endpoints(
    ids: Sequence[int], sight: Sight, wanted: ClientQuery
) -> QuerySet[ClientEndpoint]:
    """The first endpoints of each connection; endpoints with the search text come
    first.

    Each endpoint has ``queue_name``: the name of its queue, or of the queue named like
    its node.
    """
    named = Queue.objects.filter(name=OuterRef("node"))
    has_text = naming(wanted.text, OF_ENDPOINTS) if wanted.text else Q(pk__gt=0)
    return (
        ClientEndpoint.objects.filter(
            sight.endpoints, connection__in=ids, pk__gt=wanted.endpoints_after
        )
        .annotate(
            queue_name=Coalesce("queue__name", Subquery(named.values("name")[:1])),
            has_text=ExpressionWrapper(has_text, output_field=BooleanField()),
            place=Window(
                RowNumber(),
                partition_by=F("connection_id"),
                order_by=[F("has_text").desc(nulls_last=True), F("pk").asc()],
            ),
        )
        .filter(place__lte=wanted.endpoints)
        .select_related("queue", "close_requested_by")
        .order_by("connection_id", "place")
    )
