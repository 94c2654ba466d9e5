"""Definitions of bridges and their parts: read, define and remove each by its name.

A definition is complete: missing fields get their defaults. A running link uses a
changed definition from its next start.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import transaction
from django.http import HttpRequest
from ninja import Path, Schema

from broker.acts.objects import find_link
from broker.bridges.config import edits
from broker.bridges.config.faults import Part
from broker.errors.bridges import NoSuchPart
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)
from broker.security import authorities
from console.bridges.api import bridges
from console.bridges.api.schemas import (
    BridgeDefinition,
    DeadQueueDefinition,
    DestinationDefinition,
    FactoryDefinition,
    LinkDefinition,
    NewBridge,
    NewDeadQueue,
    NewDestination,
    NewFactory,
    NewLink,
    SavedDeadQueue,
    SavedDestination,
    SavedLink,
    StoredFactory,
    part_document,
)
from console.bridges.documents import bridge_of
from console.edges.rest.problems import REFUSED, require
from console.edges.rest.warned import warned

router = bridges.router  # shared: a path has one view for GET and PUT

Shared = TypeVar("Shared", ConnectionFactory, BridgeDestination, DeadMessageQueue, Link)
OF = {  # the URL path of each kind of part
    "factories": "/bridges/{queue:bridge}/connection-factories/{queue:factory}",
    "destinations": "/bridges/{queue:bridge}/destinations/{queue:destination}",
    "queues": "/bridges/{queue:bridge}/dead-message-queues/{queue:dead_queue}",
    "links": "/bridges/{queue:bridge}/links/{queue:link}",
}
# the name field of a part, if it is not ``name``
REFS: dict[type, str] = {BridgeDestination: "ref_name"}
DEFINED = OF["links"] + "/definition"


@router.get(
    "/bridges/{queue:bridge}/definition",
    response={200: BridgeDefinition, **REFUSED},
    summary="The definition of a bridge",
)
def read_bridge_definition(request: HttpRequest, bridge: Path[str]) -> dict[str, Any]:
    """The bridge itself, without its parts."""
    require(request, "broker.view_bridge")
    return part_document(bridge_of(bridge), BridgeDefinition)


@router.put(
    "/bridges/{queue:bridge}",
    response={200: BridgeDefinition, **REFUSED},
    summary="Define a bridge",
)
def define_bridge(
    request: HttpRequest, bridge: Path[str], said: NewBridge
) -> dict[str, Any]:
    """Creates or replaces the bridge."""
    may_define(request, Bridge)
    found = Bridge.objects.filter(name=bridge).first() or Bridge(name=bridge)
    return defined(request, found, said)


@router.delete(
    "/bridges/{queue:bridge}",
    response={200: BridgeDefinition, **REFUSED},
    summary="Delete a bridge",
)
def delete_bridge(request: HttpRequest, bridge: Path[str]) -> dict[str, Any]:
    """Deletes the bridge with all its parts. Its links must be stopped first."""
    may_delete(request, Bridge)
    return removed(bridge_of(bridge), BridgeDefinition)


@router.get(
    OF["factories"],
    response={200: StoredFactory, **REFUSED},
    summary="A connection factory",
)
def read_factory(
    request: HttpRequest, bridge: Path[str], factory: Path[str]
) -> dict[str, Any]:
    """The connection factory, without its password."""
    require(request, "broker.view_connectionfactory")
    return factory_document(part_of(ConnectionFactory, bridge, factory))


@router.put(
    OF["factories"],
    response={200: StoredFactory, **REFUSED},
    summary="Define a connection factory",
)
def define_factory(
    request: HttpRequest, bridge: Path[str], factory: Path[str], said: NewFactory
) -> dict[str, Any]:
    """Creates or replaces the connection factory. Its password is stored encrypted."""
    may_define(request, ConnectionFactory)
    with transaction.atomic():
        found = made(ConnectionFactory, bridge, factory)
        values = said.dict(exclude={"password"})
        defined(request, found, said, values, password=said.password)
    return factory_document(found)


@router.delete(
    OF["factories"],
    response={200: StoredFactory, **REFUSED},
    summary="Delete a connection factory",
)
def delete_factory(
    request: HttpRequest, bridge: Path[str], factory: Path[str]
) -> dict[str, Any]:
    """Deletes the connection factory, if nothing uses it."""
    may_delete(request, ConnectionFactory)
    found = part_of(ConnectionFactory, bridge, factory)
    was = factory_document(found)
    edits.remove(found)
    return was


@router.get(
    OF["destinations"],
    response={200: DestinationDefinition, **REFUSED},
    summary="A destination",
)
def read_destination(
    request: HttpRequest, bridge: Path[str], destination: Path[str]
) -> dict[str, Any]:
    """The destination under the name that links refer to."""
    require(request, "broker.view_bridgedestination")
    found = part_of(BridgeDestination, bridge, destination)
    return part_document(found, DestinationDefinition)


@router.put(
    OF["destinations"],
    response={200: SavedDestination, **REFUSED},
    summary="Define a destination",
)
def define_destination(
    request: HttpRequest,
    bridge: Path[str],
    destination: Path[str],
    said: NewDestination,
) -> dict[str, Any]:
    """Creates or replaces the destination."""
    may_define(request, BridgeDestination)
    return defined(request, made(BridgeDestination, bridge, destination), said)


@router.delete(
    OF["destinations"],
    response={200: DestinationDefinition, **REFUSED},
    summary="Delete a destination",
)
def delete_destination(
    request: HttpRequest, bridge: Path[str], destination: Path[str]
) -> dict[str, Any]:
    """Deletes the destination, if nothing uses it. The queue or topic itself stays."""
    may_delete(request, BridgeDestination)
    found = part_of(BridgeDestination, bridge, destination)
    return removed(found, DestinationDefinition)


@router.get(
    OF["queues"],
    response={200: DeadQueueDefinition, **REFUSED},
    summary="A dead message queue",
)
def read_dead_queue(
    request: HttpRequest, bridge: Path[str], dead_queue: Path[str]
) -> dict[str, Any]:
    """A dead message queue beside the built-in one."""
    require(request, "broker.view_deadmessagequeue")
    found = part_of(DeadMessageQueue, bridge, dead_queue)
    return part_document(found, DeadQueueDefinition)


@router.put(
    OF["queues"],
    response={200: SavedDeadQueue, **REFUSED},
    summary="Define a dead message queue",
)
def define_dead_queue(
    request: HttpRequest,
    bridge: Path[str],
    dead_queue: Path[str],
    said: NewDeadQueue,
) -> dict[str, Any]:
    """Creates or replaces the dead message queue."""
    may_define(request, DeadMessageQueue)
    with transaction.atomic():
        values = said.dict()
        values["factory"] = part_of(ConnectionFactory, bridge, said.factory)
        values["destination"] = part_of(BridgeDestination, bridge, said.destination)
        return defined(
            request, made(DeadMessageQueue, bridge, dead_queue), said, values
        )


@router.delete(
    OF["queues"],
    response={200: DeadQueueDefinition, **REFUSED},
    summary="Delete a dead message queue",
)
def delete_dead_queue(
    request: HttpRequest, bridge: Path[str], dead_queue: Path[str]
) -> dict[str, Any]:
    """Deletes the definition. Messages on that queue stay there."""
    may_delete(request, DeadMessageQueue)
    found = part_of(DeadMessageQueue, bridge, dead_queue)
    return removed(found, DeadQueueDefinition)


@router.get(
    DEFINED,
    response={200: LinkDefinition, **REFUSED},
    summary="The definition of a link",
)
def read_link_definition(
    request: HttpRequest, bridge: Path[str], link: Path[str]
) -> dict[str, Any]:
    """The definition of a link."""
    require(request, "broker.view_link")
    find_link(authorities.held_by(request.user), bridge, link)
    return part_document(part_of(Link, bridge, link), LinkDefinition)


@router.put(OF["links"], response={200: SavedLink, **REFUSED}, summary="Define a link")
def define_link(
    request: HttpRequest, bridge: Path[str], link: Path[str], said: NewLink
) -> dict[str, Any]:
    """Creates or replaces the link."""
    may_define(request, Link)
    with transaction.atomic():
        values = said.dict()
        for end in ("source", "target"):
            factory, ref = f"{end}_factory", values[end]
            values[factory] = part_of(ConnectionFactory, bridge, values[factory])
            values[end] = ref and part_of(BridgeDestination, bridge, ref)
        return defined(request, made(Link, bridge, link), said, values)


@router.delete(
    OF["links"], response={200: LinkDefinition, **REFUSED}, summary="Delete a link"
)
def delete_link(
    request: HttpRequest, bridge: Path[str], link: Path[str]
) -> dict[str, Any]:
    """Deletes the link, if it is stopped and has no transaction in doubt."""
    may_delete(request, Link)
    return removed(part_of(Link, bridge, link), LinkDefinition)


def may_define(request: HttpRequest, model: type[Part]) -> None:
    for deed in ("add", "change"):
        require(request, f"broker.{deed}_{model._meta.model_name}")


def may_delete(request: HttpRequest, model: type[Part]) -> None:
    require(request, f"broker.delete_{model._meta.model_name}")


def known(model: type[Shared], bridge: str, name: str) -> Shared | None:
    """A part by its name and its bridge's name, if it exists."""
    column = REFS.get(model, "name")
    relations = [one.name for one in model._meta.fields if one.is_relation]
    rows = model._default_manager.select_related(*relations)
    return rows.filter(bridge__name=bridge, **{column: name}).first()


def part_of(model: type[Shared], bridge: str, name: str) -> Shared:
    """
    Raises:
        NoSuchBridge, NoSuchPart: there is none of this name.
    """
    found = known(model, bridge, name)
    if found is None:
        raise NoSuchPart(str(model._meta.verbose_name), name, bridge_of(bridge).name)
    return found


def made(model: type[Shared], bridge: str, name: str) -> Shared:
    """The existing part of this name, or a new one."""
    column = REFS.get(model, "name")
    found = known(model, bridge, name)
    return found or model(bridge=bridge_of(bridge), **{column: name})


def defined(
    request: HttpRequest,
    part: Part,
    said: Any,
    values: Any = None,
    password: Any = None,
) -> dict[str, Any]:
    """Set the fields of a part; the answer has the warnings, where its schema has.

    Raises:
        WrongBridge: the definition is not valid.
    """
    for name, value in (values or said.dict()).items():
        setattr(part, name, value)
    with warned(request) as warnings:
        edits.save(part, password=password)
    return part_document(part, type(said)) | {"warnings": warnings}


def removed(part: Part, schema: type[Schema]) -> dict[str, Any]:
    """Delete a part and return its last definition.

    Raises:
        StillNeeded: another part refers to it.
    """
    was = part_document(part, schema)
    edits.remove(part)
    return was


def factory_document(factory: ConnectionFactory) -> dict[str, Any]:
    definition = part_document(factory, FactoryDefinition)
    has_password = bool(factory.secret)
    return {**definition, "name": factory.name, "has_password": has_password}
