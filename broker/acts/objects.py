"""What a request names: an object is missing for those who may not see it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from broker.acts.operations.rights import find_operation
from broker.acts.visible_queues import SIGHT, find_queue
from broker.alerts import sight
from broker.bridges.configured import ENDS, ends_here
from broker.errors.alerts import NoSuchAlert
from broker.errors.bridges import NoSuchBranch, NoSuchBridge, NoSuchLink
from broker.errors.messages import NoSuchMessage
from broker.errors.queues import (
    NoSuchConnection,
    NoSuchCredential,
    NoSuchRecurringMessage,
)
from broker.errors.units_of_work import NoSuchUnitOfWork
from broker.models import (
    AlertRule,
    AlertTarget,
    Branch,
    Bridge,
    ClientConnection,
    ClientEndpoint,
    Credential,
    Link,
    Message,
    Queue,
    RecurringMessage,
)
from broker.monitoring import connections
from broker.monitoring.connections import ClientQuery
from broker.monitoring.numbers import copies_of
from broker.monitoring.visible_groups import parts_for
from broker.queueing import journal
from broker.security import authorities
from broker.security.audit import Thing
from broker.security.authorities import GrantedAuthorities, Principal
from broker.transactions import administration, prepared_units
from broker.transactions.administration import OpenUnit
from broker.transactions.prepared_units import PreparedRow

if TYPE_CHECKING:
    from broker.acts.declaring import ActField

# An actor with one of these authorities on a message's queue may know of the message.
READERS: tuple[authorities.Authority, ...] = (SIGHT, "browse")
LARGEST = 2**63  # no number in the database is as large


class FoundMessage(NamedTuple):
    """A message, as far as it decides who may see it."""

    id: int
    # Queues that the message is or was on; if no queue is known, its address.
    queues: frozenset[str]


def find_message(held: GrantedAuthorities, number: int) -> FoundMessage:
    """A message by its number, or by the id of a copy.

    Raises:
        NoSuchMessage: it is unknown, or the actor may neither inquire nor browse any of
            its queues.
    """
    is_number = 0 < number < LARGEST
    queues = is_number and (
        places_of(number) or places_of(max(copies_of([number])[number], default=number))
    )
    if not queues or not any(held.on(one, on) for on in queues for one in READERS):
        raise NoSuchMessage(number)
    return FoundMessage(number, queues)


def places_of(message_id: int) -> frozenset[str]:
    ids = {event.queue_id for event in journal.events_of(message_id)}
    names = Queue.objects.filter(pk__in=ids).values_list("name", flat=True)
    sent_to = Message.objects.filter(pk=message_id).values_list("address", flat=True)
    return frozenset(names) or frozenset(sent_to)


def find_rule(name: str) -> AlertRule:
    """A rule of alerts.

    Raises:
        NoSuchAlert: it does not exist.
    """
    if found := AlertRule.objects.filter(name=name).first():
        return found
    raise NoSuchAlert("alert rule", name)


def find_target(name: str) -> AlertTarget:
    """A target of notifications.

    Raises:
        NoSuchAlert: it does not exist.
    """
    if found := AlertTarget.objects.filter(name=name).first():
        return found
    raise NoSuchAlert("alert target", name)


def visible_links(held: GrantedAuthorities, **of: object) -> list[Link]:
    """Links whose queues here the actor may inquire, by bridge and name. One query."""
    every = Link.objects.select_related("status", *ENDS).filter(**of)
    return [
        one
        for one in every.order_by("bridge__name", "name")
        if all(held.on(SIGHT, queue) for queue in ends_here(one))
    ]


def find_link(held: GrantedAuthorities, bridge: str, link: str) -> Link:
    """A link of a bridge.

    Raises:
        NoSuchLink: the bridge does not have it, or the actor may not see it.
        NoSuchBridge: so is the whole bridge.
    """
    links = visible_links(held, bridge__name=bridge)
    found = next((one for one in links if one.name == link), None)
    if found is not None:
        return found
    is_empty = Bridge.objects.filter(name=bridge, links=None).exists()
    raise NoSuchLink(bridge, link) if links or is_empty else NoSuchBridge(bridge)


def find_branch(held: GrantedAuthorities, bridge: str, link: str, xid: str) -> Branch:
    """A transaction of a link that has not ended.

    Raises:
        NoSuchBranch: it has ended, or is not of this link.
        NoSuchLink, NoSuchBridge: see ``find_link``.
    """
    of = find_link(held, bridge, link)
    found = Branch.objects.filter(link=of, xid=xid).first()
    if found is None:
        raise NoSuchBranch(xid)
    return found


def find_unit(held: GrantedAuthorities, uow: int) -> OpenUnit:
    """An open unit of work.

    Raises:
        NoSuchUnitOfWork: it has ended, or the actor may inquire none of its queues.
    """
    found = administration.open_unit(uow)
    if found is None or not (
        held.everywhere(SIGHT)
        or any(held.on(SIGHT, queue) for queue in queues_of(found))
    ):
        raise NoSuchUnitOfWork(uow)
    return found


def find_connection(actor: Principal, number: int) -> ClientConnection:
    """A connection of a client.

    Raises:
        NoSuchConnection: it has ended, or the actor may not see it.
    """
    ids = [number] if number < LARGEST else []
    for one in connections.connections(actor, ClientQuery(ids=ids)):
        return one.connection
    raise NoSuchConnection("connection", number)


def find_prepared(held: GrantedAuthorities, uow: int) -> PreparedRow:
    """A unit of work that waits for its coordinator.

    Raises:
        NoSuchUnitOfWork: it has ended, or the actor may not inquire all its queues.
    """
    for one in prepared_units.waiting(held):
        if one.work.uow == uow:
            return one
    raise NoSuchUnitOfWork(uow)


def find_recurring(held: GrantedAuthorities, name: str) -> RecurringMessage:
    """A recurring message.

    Raises:
        NoSuchRecurringMessage: it does not exist, or the actor may not inquire its
            address.
    """
    found = RecurringMessage.objects.filter(name=name).first()
    if found is None or not held.on(SIGHT, found.address):
        raise NoSuchRecurringMessage(name)
    return found


def find_credential(name: str) -> Credential:
    """A credential, with its users.

    Raises:
        NoSuchCredential: it does not exist.
    """
    people = ("user", "created_by", "revoked_by")
    if found := Credential.objects.select_related(*people).filter(name=name).first():
        return found
    raise NoSuchCredential(name)


def find_endpoint(actor: Principal, number: int) -> ClientEndpoint:
    """An endpoint of a client.

    Raises:
        NoSuchConnection: it is closed, or the actor may not see it.
    """
    of = ClientEndpoint.objects.filter(pk=number).values_list("connection", flat=True)
    for pk in of:
        wanted = ClientQuery(ids=[pk], endpoints_after=number - 1, endpoints=1)
        for one in connections.connections(actor, wanted):
            for endpoint in one.endpoints:
                if endpoint.pk == number:
                    return endpoint
    raise NoSuchConnection("endpoint", number)


# Finds the object with a key, or raises an error that says that it is missing.
Find = Callable[..., Any]  # arguments: actor, the actor's authorities, key
# By kind of object. A package that declares acts on its own kinds of objects adds them.
KINDS: dict[str, Find] = {
    "alert": sight.found,
    "alert rule": lambda _actor, _held, name: find_rule(name),
    "alert target": lambda _actor, _held, name: find_target(name),
    "branch": lambda _actor, held, *key: find_branch(held, *key),
    "connection": lambda actor, _held, number: find_connection(actor, number),
    "credential": lambda _actor, _held, name: find_credential(name),
    "endpoint": lambda actor, _held, number: find_endpoint(actor, number),
    "group of dead letters": lambda _actor, held, name: parts_for(held, name),
    "link": lambda _actor, held, *key: find_link(held, *key),
    "message": lambda _actor, held, number: find_message(held, number),
    "operation": lambda _actor, held, number: find_operation(held, number),
    "prepared unit of work": lambda _actor, held, uow: find_prepared(held, uow),
    "queue": lambda _actor, held, name: find_queue(held, name),
    "recurring message": lambda _actor, held, name: find_recurring(held, name),
    "silence": lambda _actor, held, number: sight.found_silence(held, number),
    "unit of work": lambda _actor, held, uow: find_unit(held, uow),
}


def key_of(field: ActField, request: Any) -> list[Any]:
    """The key of a field's object: the names of the objects it is part of, and its own
    name."""
    return [getattr(request, one) for one in (*field.holds.within, field.name)]


def queues_of(found: Any) -> Collection[str]:
    """The queues here on which an authority for an object is needed."""
    if isinstance(found, OpenUnit):
        held = Queue.objects.filter(pk__in=found.queue_ids).order_by("name")
        return list(held.values_list("name", flat=True))
    if isinstance(found, PreparedRow):
        return found.queues
    if isinstance(found, RecurringMessage):
        return (found.address,)
    if isinstance(found, Branch):
        found = found.link
    return sorted(ends_here(found)) if isinstance(found, Link) else (found.name,)


def name_subject(kind: str, *key: Any) -> Thing:
    """The object of a refused attempt, whether or not it exists."""
    if isinstance(key[-1], int):
        return Thing(kind, key[-1], f"{kind} {key[-1]}")
    # An xid is unique, so the name of the link is left out.
    is_unique = kind == "branch"
    return Thing(kind, "", str(key[-1]) if is_unique else "/".join(map(str, key)))
