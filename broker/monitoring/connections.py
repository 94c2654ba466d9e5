"""Clients on the wire: which are connected, and how a listener is asked to close one.

A listener writes its clients down once a second, and then looks which it is to close.
Nothing here waits for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

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

CONNECTIONS = 25  # of a page
ENDPOINTS = 20  # of each
OF_CONNECTIONS = (
    *("container_id", "host", "product", "mechanism"),
    *("user__username", "credential__name"),
)
OF_ENDPOINTS = ("name", "node", "queue__name")
PEOPLE = ("user", "credential", "close_requested_by")
EVERY_QUEUE = "#"


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """Which clients are looked for.

    ``text`` is a part of whatever names a client or one of its endpoints; ``ids`` are
    those of connections. A list begins after a connection, and the endpoints of each
    after an endpoint.
    """

    text: str = ""
    ids: Sequence[int] | None = None
    after: int = 0
    limit: int = CONNECTIONS
    endpoints_after: int = 0
    endpoints: int = ENDPOINTS


@dataclass(frozen=True, slots=True)
class Used:
    """What a client has open, in numbers; those that one may not see are only told."""

    endpoints: int = 0
    hidden: int = 0
    sessions: int = 0
    unsettled: int = 0
    messages: int = 0
    nodes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Connected:
    """A client, and the first of its endpoints, as they were a second ago."""

    connection: ClientConnection
    endpoints: Sequence[ClientEndpoint]
    used: Used
    may_close: bool  # as far as the queues go that it uses
    closable: frozenset[int]  # the endpoints, likewise


@dataclass(frozen=True, slots=True)
class Sight:
    """What somebody may see of the clients."""

    user: Principal
    held: GrantedAuthorities
    nodes: Collection[str] | None  # where they may see any; None: everywhere

    @property
    def endpoints(self) -> Q:
        return Q() if self.nodes is None else Q(node__in=["", *self.nodes])

    @property
    def connections(self) -> Q:
        """Those with an endpoint on a queue that may be inquired, and one's own."""
        if self.nodes is None:
            return Q()
        known = ClientEndpoint.objects.filter(connection=OuterRef("pk"))
        is_own = Q(user=self.user.pk) if self.user is not None else Q()
        return is_own | Q(Exists(known.filter(node__in=self.nodes)))


def connections(user: Principal, wanted: ClientQuery | None = None) -> list[Connected]:
    """The clients that a person may see, the oldest first. Seven queries at most.

    One sees the connections that use a queue which one may inquire, and one's own; and
    of their endpoints those on such queues. Where a text is looked for, the endpoints
    that have it come first.
    """
    wanted = wanted or ClientQuery()
    sight = sight_of(user)
    rows = ClientConnection.objects.filter(sight.connections, pk__gt=wanted.after)
    if wanted.ids is not None:
        rows = rows.filter(pk__in=wanted.ids)
    if wanted.text:
        own = ClientEndpoint.objects.filter(sight.endpoints, connection=OuterRef("pk"))
        names = Exists(own.filter(naming(wanted.text, OF_ENDPOINTS)))
        rows = rows.filter(naming(wanted.text, OF_CONNECTIONS) | Q(names))
    found = rows.select_related(*PEOPLE).order_by("pk")[: wanted.limit]
    return with_endpoints(list(found), sight, wanted)


def count(user: Principal) -> int:
    """How many clients a person may see."""
    return ClientConnection.objects.filter(sight_of(user).connections).count()


def close_connection(
    connection_id: int, user: Principal, *, reason: str = ""
) -> datetime | None:
    """Ask the listener of a client to close its connection.

    Args:
        connection_id: of ``ClientConnection``.
        user: who asks; they must be allowed to set each queue that the client uses.
        reason: why, for the audit.

    Returns:
        since when this is asked for, which may be longer; None if the client is gone.

    Raises:
        NotAuthorized: nothing was asked for.
    """
    rows = ClientConnection.objects.filter(pk=connection_id)
    with transaction.atomic():
        if rows.exists():
            require_set(user, ClientEndpoint.objects.filter(connection=connection_id))
        return ask(rows, user, Act.CLOSE_CONNECTION, reason)


def close_endpoint(
    endpoint_id: int, user: Principal, *, reason: str = ""
) -> datetime | None:
    """Ask the listener to close one endpoint of a client, and leave it the others.

    Args:
        endpoint_id: of ``ClientEndpoint``.
        user: who asks; they must be allowed to set the queues of this endpoint, and
            where it has none, those of all its connection.
        reason: why, for the audit.

    Returns:
        since when this is asked for, which may be longer; None if it is gone.

    Raises:
        NotAuthorized: nothing was asked for.
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
    """Note who wants this closed; whoever was the first stays so."""
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
    """The queues that each node stands for: itself, or those that the address feeds.

    One query. A node without a queue stands for the queue that it might become.
    """
    behind: dict[str, set[str]] = {node: set() for node in nodes}
    known = Q(name__in=list(behind)) | Q(address__name__in=list(behind))
    rows = Queue.objects.filter(known).values_list("name", "address__name")
    for name, address in rows if behind else ():
        for node in {name, address} & behind.keys():
            behind[node].add(name)
    return {node: frozenset(queues or {node}) for node, queues in behind.items()}


def naming(text: str, fields: Iterable[str]) -> Q:
    """Rows of which one of the fields has the text in it."""
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
    """In numbers, by connection."""
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
    """Some of each connection, those first that have the text which is looked for.

    Each has ``queue_name``: of the queue it is on, or that is called like its node.
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
