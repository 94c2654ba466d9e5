"""Interpretation of the source in a consumer's attach. Pure functions.

Source:
    AMQP 1.0, part 3, section 3.5; "AMQP JMS Mapping", which defines the capabilities
    and maps a link's name, container-id and source to a JMS subscription.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from broker.amqp.messages.anonymous_relay import Kind, bare, checked
from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.types.types import Described

SELECTOR = (0x0000468C00000004, "apache.org:selector-filter:string")
NO_LOCAL = (0x0000468C00000003, "apache.org:no-local-filter:list")
LONGEST_SELECTOR = 10_000  # most characters of a selector
LONGEST_NAME = 255  # most characters of a name
EXCLUSIVE = "exclusive"
# Capability: marked deliveries are not backed out by a rollback.
MARK = "mark-skip-backout"
TOPICS = frozenset({"topic", "temporary-topic"})
QUEUES = frozenset({"queue", "temporary-queue"})
KNOWN = TOPICS | QUEUES | {"shared", "global", EXCLUSIVE, MARK}
OUTCOMES = (
    *("amqp:accepted:list", "amqp:rejected:list"),
    *("amqp:released:list", "amqp:modified:list"),
)


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What a client asks for by a source.

    Attributes:
        name: the node's name, without scheme and host.
        subscription: the name of a durable or shared subscription.
        client_id: the subscription's client id; empty for a global subscription.
        filters: the filters that are applied, as the client wrote them.
    """

    name: str
    kind: Kind = None
    subscription: str = ""
    client_id: str = ""
    selector: str = ""
    filters: dict[Any, Any] = field(default_factory=dict)
    is_durable: bool = False
    is_shared: bool = False
    is_dynamic: bool = False
    is_exclusive: bool = False
    is_copy: bool = False
    no_local: bool = False
    has_mark: bool = False


def read_source_request(attach: p.Attach, container_id: str) -> SourceRequest:
    """What an attach asks for.

    Args:
        attach: the client's attach; it has a source.
        container_id: the client's container id.

    Raises:
        AmqpError: a filter cannot be applied; ``amqp:invalid-field``.
        NoSuchAddress: no queue or address can have this name.
    """
    source = attach.source
    assert source is not None, "one without asks for something else"
    asked = {str(one).lower() for one in source.capabilities}
    selector, no_local, filters = filters_of(source)
    return SourceRequest(
        name=checked(bare(source.address or "")),
        kind=kind_of(source.capabilities),
        subscription=subscription_name(attach),
        client_id="" if "global" in asked else container_id,
        selector=selector,
        filters=filters,
        is_durable=source.durable > 0 or source.expiry_policy == "never",
        is_shared="shared" in asked,
        is_dynamic=source.dynamic,
        is_exclusive=EXCLUSIVE in asked or is_exclusive(attach),
        is_copy=source.distribution_mode == "copy",
        no_local=no_local,
        has_mark=MARK in asked,
    )


def kind_of(capabilities: Iterable[str]) -> Kind:
    """The kind of destination that capabilities ask for."""
    asked = {one.lower() for one in capabilities}
    return "topic" if asked & TOPICS else "queue" if asked & QUEUES else None


def check_name(name: str) -> str:
    """A subscription's name or client id, checked.

    Raises:
        AmqpError: the text is too long or has a NUL character; ``amqp:invalid-field``.
    """
    if len(name) > LONGEST_NAME or "\0" in name:
        why = f"A name has at most {LONGEST_NAME} characters, none of them NUL."
        raise AmqpError(c.INVALID_FIELD, why)
    return name


def subscription_name(attach: p.Attach) -> str:
    """A link's name up to "|"; clients append a suffix to make names of links
    unique."""
    return attach.name.partition("|")[0]


def is_exclusive(attach: p.Attach) -> bool:
    return (attach.properties or {}).get(EXCLUSIVE) is True


def filters_of(source: p.Source) -> tuple[str, bool, dict[Any, Any]]:
    """The selector, whether no-local is set, and the filters that are applied."""
    selector, no_local, applied = "", False, {}
    for key, filter_ in (source.filter or {}).items():
        descriptor = filter_.descriptor if isinstance(filter_, Described) else None
        if descriptor in SELECTOR and not selector:
            selector, applied[key] = selector_of(filter_.value), filter_
        elif descriptor in NO_LOCAL:
            no_local, applied[key] = True, filter_
    return selector, no_local, applied


def selector_of(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_SELECTOR or "\0" in value:
        why = f"A selector is a text of at most {LONGEST_SELECTOR:,} characters."
        raise AmqpError(c.INVALID_FIELD, why)
    return value


def granted(
    attach: p.Attach,
    what: SourceRequest,
    address: str | None,
    *,
    is_durable: bool,
    lives: dict[Any, Any] | None = None,
) -> p.Source:
    """The source as granted, for the answer to the client.

    Args:
        attach: the client's attach.
        what: the request.
        address: the node's address.
        is_durable: whether the subscription outlives the endpoint.
        lives: the properties of a dynamic node.
    """
    source = attach.source or p.Source()
    return p.Source(
        address=address,
        durable=max(source.durable, 1) if is_durable else 0,
        expiry_policy="never" if is_durable else "link-detach",
        dynamic=what.is_dynamic,
        dynamic_node_properties=lives,
        distribution_mode=source.distribution_mode,
        filter=what.filters or None,
        default_outcome=source.default_outcome,
        outcomes=tuple(one for one in source.outcomes if one in OUTCOMES) or OUTCOMES,
        capabilities=tuple(one for one in source.capabilities if one.lower() in KNOWN),
    )
