"""Validation of bridges: a sentence for each fault. Pure functions.

It runs before each save, and before a link starts. A link with a fault does not
consume.

Source:
    Open MQ, Administration Guide, "Configuring a JMS Bridge"; its
    ``sun_jmsbridge_1_0.dtd``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from broker.bridges.config.faults import (
    FieldFault,
    Part,
    fields_wrong,
    is_same,
    of_properties,
    of_reference,
    of_topic,
)
from broker.bridges.config.link_faults import of_link
from broker.bridges.providers import registry
from broker.bridges.providers.interface import Factory
from broker.bridges.transformers.registry import check
from broker.errors.bridges import NoSuchTransformer, WrongFactory
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)
from broker.models.bridge_names import BUILT_IN_QUEUE


def transformer_problem(name: str, properties: Mapping[str, str]) -> str:
    """The reason that a link cannot use a message transformer; empty if it can."""
    try:
        check(name, properties)
    except (NoSuchTransformer, ValueError) as error:
        return str(error)
    return ""


def problems_of(link: Link) -> list[str]:
    """All faults that prevent a link from running, including those of the parts it
    uses."""
    return [one.sentence for one in faults_of(link)] + [
        f"{noun(part)}: {one.sentence}"
        for part in used_by(link)
        for one in faults_of(part)
    ]


def problems_of_bridge(bridge: Bridge) -> list[str]:
    """All faults of a stored bridge and its parts."""
    return problems_among(
        [
            bridge,
            *bridge.factories.all(),
            *bridge.destinations.all(),
            *bridge.dead_queues.select_related("factory", "destination"),
            *bridge.links.select_related(
                *("source_factory", "source", "target_factory", "target", "bridge")
            ),
        ]
    )


def problems_among(parts: Iterable[Part]) -> list[str]:
    """All faults of these parts; each sentence begins with the name of its part."""
    listed = list(parts)
    links = [one for one in listed if isinstance(one, Link)]
    found = [
        f"{noun(part)}: {fault.sentence}"
        for part in listed
        for fault in faults_of(part)
    ]
    for one in listed:
        if isinstance(one, DeadMessageQueue):
            found += [f"{noun(one)}: {fault.sentence}" for fault in feeding(one, links)]
    return found


def faults_of(part: Part) -> list[FieldFault]:
    """The faults of one part, as far as they do not depend on parts that use it."""
    found = [*fields_wrong(part), *RULES[type(part)](part)]
    if isinstance(part, Link | DeadMessageQueue):
        found += of_transformer(part.transformer, part.properties)
    return found


def noun(part: Part) -> str:
    """Kind and name of a part, for people: ``Link 'orders-out'``."""
    kind = part._meta.verbose_name_raw.capitalize()
    name = part.ref_name if isinstance(part, BridgeDestination) else part.name
    return f"{kind} {name!r}"


def used_by(link: Link) -> list[Part]:
    """The parts that a link uses, each once."""
    parts = ("source_factory", "target_factory", "source", "target")
    found: list[Part] = []
    for one in (getattr(link, name, None) for name in parts):
        if one is not None and one not in found:
            found.append(one)
    return found


def of_bridge(bridge: Bridge) -> Iterator[FieldFault]:
    """No faults: a bridge has no rules beyond those of its fields."""
    return iter(())


def of_factory(factory: ConnectionFactory) -> Iterator[FieldFault]:
    if not factory.provider:
        yield FieldFault("provider", "Choose its provider.")
    else:
        yield from of_provider(factory)
    if factory.username and not factory.secret:
        yield FieldFault(
            "username", "It has a username but no password. Enter both, or neither."
        )
    yield from of_properties(factory.properties, secret=True)


def of_provider(factory: ConnectionFactory) -> Iterator[FieldFault]:
    try:
        found = registry.provider(factory.provider)
    except WrongFactory as error:
        yield FieldFault("provider", error.why)
        return
    if not found.schemes and factory.url:
        yield FieldFault(
            "url", f"{found.label.capitalize()} needs no URL. Leave it empty."
        )
    elif has_password(factory.url):
        yield FieldFault(
            "url",
            "A URL is not secret. Remove the name and the password from it, and enter"
            " them as username and password.",
        )
    else:
        try:
            found.check_url(Factory(factory.name, factory.provider, url=factory.url))
        except WrongFactory as error:
            yield FieldFault("url", error.why)


def has_password(url: str) -> bool:
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:  # the text is not a URL; another rule reports that
        return False


def of_destination(destination: BridgeDestination) -> Iterator[FieldFault]:
    if not destination.name:
        yield FieldFault("name", "Enter its name at the provider.")
    if destination.name == BUILT_IN_QUEUE:
        yield FieldFault(
            "name",
            f"{BUILT_IN_QUEUE!r} is the built-in dead message queue of each bridge."
            " Choose another name.",
        )
    yield from of_properties(destination.properties, secret=True)


def of_dead_queue(queue: DeadMessageQueue) -> Iterator[FieldFault]:
    for name in ("factory", "destination"):
        yield from of_reference(queue, name)
    factory = getattr(queue, "factory", None)
    destination = getattr(queue, "destination", None)
    if factory is not None and destination is not None:
        yield from of_topic("destination", factory, destination)


def feeding(queue: DeadMessageQueue, links: Iterable[Link]) -> Iterator[FieldFault]:
    """The fault that a link would consume its own dead messages again."""
    for link in links:
        if is_source(queue, link):
            yield FieldFault(
                "destination",
                f"{queue.destination.name!r} is the source of the link {link.name!r},"
                " which would get its own dead messages. Choose another destination.",
            )


def is_source(queue: DeadMessageQueue, link: Link) -> bool:
    """Whether a link's source is the destination of a dead message queue."""
    chosen = [getattr(queue, name, None) for name in ("factory", "destination")]
    chosen += [getattr(link, name, None) for name in ("source_factory", "source")]
    if None in chosen:
        return False
    return is_same(queue.factory, queue.destination, link.source_factory, link.source)


def of_transformer(name: str, properties: object) -> Iterator[FieldFault]:
    wrong = list(of_properties(properties))
    yield from wrong
    if name and not wrong and isinstance(properties, dict):
        why = transformer_problem(name, properties)
        if why:
            yield FieldFault("transformer", why)


RULES: dict[type, Callable[..., Iterator[FieldFault]]] = {
    Bridge: of_bridge,
    ConnectionFactory: of_factory,
    BridgeDestination: of_destination,
    DeadMessageQueue: of_dead_queue,
    Link: of_link,
}
