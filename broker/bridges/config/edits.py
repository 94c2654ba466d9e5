"""Edits of bridges: validated, audited, and all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from django.db import transaction

from broker.bridges import secrets
from broker.bridges.config.faults import Part
from broker.bridges.config.validation import faults_of, feeding, noun
from broker.errors.bridges import WrongBridge
from broker.formats.english import english
from broker.formats.quantities import write_count
from broker.models import (
    Act,
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
    LinkState,
)
from broker.security import audit

ENDS = ("source_factory", "source", "target_factory", "target")
AT_REST = (LinkState.UNINITIALIZED, LinkState.STOPPED)


@transaction.atomic
def save(part: Part, *, password: str | None = None) -> None:
    """Validate and save a part of a bridge.

    Args:
        part: the part, new or changed.
        password: of a connection factory; None keeps the stored one, an empty one
            deletes it.

    Raises:
        WrongBridge: it is invalid; with all faults.
    """
    lock(part)
    if isinstance(part, ConnectionFactory) and password is not None:
        part.secret = secrets.encrypt(password)
    require_valid(part)
    is_new = part._state.adding
    before = {} if is_new else audit.state_of(part)
    part.save()
    changed = audit.changes(before, audit.state_of(part))
    if is_new or changed:
        act = Act.CREATE if is_new else Act.CHANGE
        audit.record(act, part, detail={"changed": changed})


def require_valid(part: Part) -> None:
    """
    Raises:
        WrongBridge: a part is invalid, or would make others so; with all faults.
    """
    found = [f"{noun(part)}: {one.sentence}" for one in faults_of(part)]
    if not found:
        found = [*taken(part), *consequences(part)]
    if found:
        raise WrongBridge(list(dict.fromkeys(found)))


def lock(part: Part) -> None:
    """Lock the bridge against other edits until this transaction ends."""
    bridge = part if isinstance(part, Bridge) else part.bridge
    list(Bridge.objects.select_for_update().filter(pk=bridge.pk))


def taken(part: Part) -> Iterator[str]:
    """The fault for a name that another part has already."""
    field = "ref_name" if isinstance(part, BridgeDestination) else "name"
    same = {field: getattr(part, field)}
    if not isinstance(part, Bridge):
        same["bridge"] = part.bridge
    others = type(part)._default_manager.filter(**same).exclude(pk=part.pk)
    if others.exists():
        kind = part._meta.verbose_name_raw
        yield f"There is a {kind} {same[field]!r} already. Choose another name."


def consequences(part: Part) -> list[str]:
    """Faults that the change of a part would cause in other parts that use it.

    Disabled links are not checked: they do not run, and a start checks them.
    """
    find = CONSEQUENCES.get(type(part))
    return [] if find is None else list(dict.fromkeys(find(part)))


def of_shared(part: ConnectionFactory | BridgeDestination) -> Iterator[str]:
    if part._state.adding:
        return
    links = list(links_of(part.bridge))
    queues = list(part.bridge.dead_queues.select_related("factory", "destination"))
    for link in [one for one in links if put_in(one, ENDS, part)]:
        yield from (f"{noun(link)}: {one.sentence}" for one in faults_of(link))
    put = [put_in(one, ("factory", "destination"), part) for one in queues]
    for queue, is_used in zip(queues, put, strict=True):
        wrong = [*(faults_of(queue) if is_used else []), *feeding(queue, links)]
        yield from (f"{noun(queue)}: {one.sentence}" for one in wrong)


def of_link(link: Link) -> Iterator[str]:
    for queue in link.bridge.dead_queues.select_related("factory", "destination"):
        for one in feeding(queue, [link]):
            yield f"{noun(queue)}: {one.sentence}"


def of_dead_queue(queue: DeadMessageQueue) -> Iterator[str]:
    found = feeding(queue, links_of(queue.bridge))
    yield from (f"{noun(queue)}: {one.sentence}" for one in found)


CONSEQUENCES: dict[type, Callable[..., Iterator[str]]] = {
    ConnectionFactory: of_shared,
    BridgeDestination: of_shared,
    Link: of_link,
    DeadMessageQueue: of_dead_queue,
}


def links_of(bridge: Bridge) -> Iterator[Link]:
    """The enabled links of a bridge."""
    yield from bridge.links.filter(enabled=True).select_related("bridge", *ENDS)


def put_in(user: Link | DeadMessageQueue, names: tuple[str, ...], part: Part) -> bool:
    """Let a link or queue that uses the stored part refer to the changed part. Return
    whether it uses the part."""
    uses = [name for name in names if getattr(user, name) == part]
    for name in uses:
        setattr(user, name, part)
    return bool(uses)


def reasons_to_keep(part: Part, going: Collection[Part] = ()) -> Iterator[str]:
    """The reasons that a part cannot be deleted now, and what to do.

    Args:
        part: the part.
        going: parts that are deleted with it.
    """
    if isinstance(part, Bridge):
        for link in part.links.select_related("status"):
            yield from (f"the link {link.name!r}: {one}" for one in of_running(link))
    elif isinstance(part, Link):
        yield from of_running(part)
    elif isinstance(part, ConnectionFactory | BridgeDestination):
        for one in (one for one in users(part) if one not in going):
            kind = one._meta.verbose_name_raw
            yield f"the {kind} {one.name!r} uses it. Change or delete that first."


def of_running(link: Link) -> Iterator[str]:
    state = state_of(link)
    if state not in AT_REST:
        yield f"it is {english(state.label)}. Stop it first."
    count = link.branches.count()
    if count:
        yield (
            f"it has {write_count(count, 'transaction')} whose end is not known."
            " Let it run until they have ended, or commit or roll them back by hand."
        )


def users(
    part: ConnectionFactory | BridgeDestination,
) -> list[Link | DeadMessageQueue]:
    """The links and dead message queues that use a factory or destination."""
    links = {*part.source_of.all(), *part.target_of.all()}
    by_name = sorted(links, key=lambda one: one.name)
    return [*by_name, *part.dead_queue_of.all()]


def state_of(link: Link) -> LinkState:
    """The state of a link; a link that was never started has no stored state."""
    status = getattr(link, "status", None)
    return LinkState(status.state) if status else LinkState.UNINITIALIZED
