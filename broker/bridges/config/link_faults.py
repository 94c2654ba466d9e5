"""Validation rules for links: source and target must fit each other, and their
providers must support the options. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from broker.bridges.config.faults import FieldFault, is_same, of_reference, of_topic
from broker.bridges.providers import registry
from broker.bridges.providers.interface import Capability
from broker.bridges.providers.registry import HERE, Provider
from broker.errors.messages import InvalidSelector
from broker.formats.selectors import parse
from broker.models import BridgeDestination, Link


def of_link(link: Link) -> Iterator[FieldFault]:
    for name in ("source_factory", "source", "target_factory", "target"):
        yield from of_reference(link, name)
    yield from of_batch(link)
    ends = providers_of(link)
    if ends is not None:
        for rule in (of_ends, of_source, of_target, of_duplicates):
            yield from rule(link, *ends)


def providers_of(link: Link) -> tuple[Provider, Provider] | None:
    """The providers of source and target, if both are known."""
    factories = [getattr(link, f"{end}_factory", None) for end in ("source", "target")]
    found = [registry.PROVIDERS.get(one.provider) for one in factories if one]
    if len(found) < 2 or found[0] is None or found[1] is None:
        return None
    return found[0], found[1]


def of_ends(link: Link, source: Provider, target: Provider) -> Iterator[FieldFault]:
    if HERE not in (source.key, target.key):
        yield FieldFault(
            "target_factory",
            f"Its source is {source.label} and its target is {target.label}: neither is"
            " this broker. Create two links, with a queue of this broker between them.",
        )
    for one in (source, target):
        if link.transacted and Capability.TRANSACTIONS not in one.capabilities:
            yield FieldFault(
                "transacted",
                f"It is transacted, but {one.label} has no transactions. Choose a"
                " provider that has them, or a link that is not transacted.",
            )
    if goes_round(link):
        yield FieldFault(
            "target",
            "Its source and its target are the same destination: each message would"
            " loop for ever. Choose another target.",
        )


def goes_round(link: Link) -> bool:
    source, target = getattr(link, "source", None), link.target
    here, there = link.source_factory, link.target_factory
    if source is None or not here.provider == there.provider == HERE:
        return False
    return target is None or is_same(here, source, there, target)


def of_source(link: Link, source: Provider, target: Provider) -> Iterator[FieldFault]:
    destination = getattr(link, "source", None)
    if destination is not None:
        yield from of_topic("source", link.source_factory, destination)
        if link.durable_name:
            yield from of_durable(link, source)
    if link.selector:
        yield from of_selector(link, source)


def of_durable(link: Link, source: Provider) -> Iterator[FieldFault]:
    if link.source.kind != BridgeDestination.Kind.TOPIC:
        yield FieldFault(
            "durable_name",
            "Only a subscription to a topic can be durable, but the source is a queue."
            " Leave the name empty, or choose a topic.",
        )
    elif Capability.DURABLE not in source.capabilities:
        yield FieldFault(
            "durable_name",
            f"{source.label} has no durable subscriptions. Leave the name empty.",
        )
    elif not link.source_client_id:
        yield FieldFault(
            "source_client_id",
            "A durable subscription is identified by a client id and its name. Set a"
            " client id for the source.",
        )


def of_selector(link: Link, source: Provider) -> Iterator[FieldFault]:
    try:
        parse(link.selector)
    except InvalidSelector as error:
        yield FieldFault("selector", str(error))
    if Capability.SELECTORS not in source.capabilities:
        yield FieldFault(
            "selector",
            f"{source.label} has no selectors. Leave it empty, or let a transformer"
            " choose the messages.",
        )


def of_target(link: Link, source: Provider, target: Provider) -> Iterator[FieldFault]:
    if link.target is not None:
        yield from of_topic("target", link.target_factory, link.target)
        return
    # Without a target (AS_SOURCE), the link sends to a destination named as its source.
    destination = getattr(link, "source", None)
    if destination is not None:
        yield from of_topic("target", link.target_factory, destination)


def of_duplicates(
    link: Link, source: Provider, target: Provider
) -> Iterator[FieldFault]:
    if not link.duplicate_detection:
        return
    if link.transacted:
        yield FieldFault(
            "duplicate_detection",
            "A transacted link has no duplicates to detect. Choose one of the two.",
        )
    elif target.key != HERE:
        yield FieldFault(
            "duplicate_detection",
            "Duplicates can be detected only if the target is this broker. Clear this"
            " option.",
        )


def of_batch(link: Link) -> Iterator[FieldFault]:
    most: int = settings.BROKER_MAX_UNCOMMITTED_MESSAGES
    if link.transacted and link.batch > most:
        yield FieldFault(
            "batch",
            f"A unit of work can have at most {most:,} messages"
            " (BROKER_MAX_UNCOMMITTED_MESSAGES). Choose a batch that is not larger.",
        )
