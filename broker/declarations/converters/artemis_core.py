"""What a ``broker.xml`` says beside addresses, queues, settings and rights.

Source:
    ActiveMQ Artemis manual, "Configuration Reference", with its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from broker.config import defaults, placeholders
from broker.config.not_here import (
    CLIENTS,
    CLUSTER,
    CODE,
    ENDPOINT,
    LINK,
    MANAGED,
    PROCESS,
    STORE,
    WHO,
    NotHere,
    rows,
)
from broker.config.xml_tree import Element, value_of
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.xml_parts import sort_out
from broker.declarations.documents import toml

Value = Callable[[Any], Any]
# Setting of Django, type and conversion, by element.
SETTINGS: Mapping[str, tuple[str, type, Value]] = {
    "name": ("BROKER_NAME", str, str),
    "max-redelivery-records": ("BROKER_MAX_REDELIVERY_RECORDS", int, int),
    "persist-delivery-count-before-delivery": (
        "BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY", bool, bool,
    ),
    "message-expiry-scan-period": (
        "BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S", int, lambda ms: ms / 1000,
    ),
    "address-queue-scan-period": (
        "BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S", int, lambda ms: ms / 1000,
    ),
    "transaction-timeout": (
        "BROKER_TRANSACTION_TIMEOUT_S", int, lambda ms: max(ms // 1000, 1),
    ),
    "max-disk-usage": ("BACKOUT_DISK_FULL_PERCENT", int, lambda used: 100.0 - used),
}  # fmt: skip
PREFIXED = (
    "Clients write a prefix before a name there, which says queue or topic. Here they"
    " use the name alone, and the capability queue or topic (docs/amqp.md)."
)
DIVERT = (
    "There are no diverts here. For a copy, make another queue of its address, with its"
    " filter as the selector, whose consumer reads there; for an exclusive one, exclude"
    " the same messages by the selectors of the other queues."
)
PREFIXES = {  # reasons by prefix of the name of an element
    "journal-": STORE, "page-": STORE, "paging-": STORE, "bindings-": STORE,
    "large-message": STORE, "create-": STORE, "global-max-": STORE, "memory-": STORE,
    "critical-analyzer": PROCESS, "thread-pool-": PROCESS, "graceful-": PROCESS,
    "scheduled-thread-": PROCESS, "network-check-": CLUSTER, "mirror-": CLUSTER,
    "cluster-": CLUSTER, "jmx-": MANAGED, "message-counter-": MANAGED,
    "management-": MANAGED, "security-": WHO, "authentication-": WHO,
    "authorization-": WHO, "mqtt-": CLIENTS, "connection-ttl-": CLIENTS,
}  # fmt: skip
OTHERS: Mapping[str, NotHere] = dict([
    *rows(STORE, ["persistence-enabled", "persist-id-cache"], "true"),
    *rows(STORE, [
        "store", "node-manager-lock-directory", "read-whole-page", "purge-page-folders",
        "log-journal-write-rate", "min-disk-free", "disk-scan-period",
    ]),
    *rows(PROCESS, [
        "server-dump-interval", "async-connection-execution-enabled",
        "message-expiry-thread-priority", "transaction-timeout-scan-period",
        "configuration-file-refresh-period", "resolve-protocols",
        "system-property-prefix", "log-delegate-factory-class-name",
        "file-deployment-enabled",
    ]),
    *rows(CLUSTER, [
        "ha-policy", "backup-servers", "cluster-connections", "broadcast-groups",
        "discovery-groups", "grouping-handler", "connection-routers", "connectors",
    ]),
    *rows(MANAGED, [
        "metrics", "metrics-plugin", "suppress-session-notifications",
        "view-permission-method-match-pattern",
    ]),
    *rows(WHO, [
        "populate-validated-user", "reject-empty-validated-user", "mask-password",
        "password-codec",
    ]),
    *rows(CODE, [
        "broker-plugins", "connector-services", "remoting-interceptors",
        "remoting-incoming-interceptors", "remoting-outgoing-interceptors",
    ]),
    *rows(CLIENTS, [
        "internal-naming-prefix", "temporary-queue-namespace", "uuid-namespace",
        "amqp-use-core-subscription-naming",
    ]),
    *rows("Only links of bridges detect duplicates (docs/bridges.md).", [
        "id-cache-size",
    ]),
    *rows("To limit users, set BROKER_AMQP_MAX_CONNECTIONS_PER_USER.", [
        "resource-limit-settings",
    ]),
])  # fmt: skip
EACH: Mapping[str, str] = {"diverts": DIVERT, "bridges": LINK, "federations": LINK}
PATTERNS: Mapping[str, NotHere] = dict(
    rows(
        "A consumer names one address here, no pattern: subscribe to each.",
        ["routing-enabled", "enabled", "wild-card-routing-enabled"],
        "false",
    )
)


def convert_core(core: Element, read: Collection[str], found: Converted) -> None:
    """Name all that is to be done, and then what needs nothing.

    Args:
        core: the element ``<core>``.
        read: names of children that are read elsewhere.
        found: what was read.
    """
    others = []
    for one in core.children:
        reader = reader_of(one.name)
        if reader is not None:
            reader(one, found)
        elif one.name not in read:
            others.append(one)
    for one in others:
        if known := other_of(one):
            sort_out({one.name: known}, one.name, one.text, one.path, found)


def reader_of(name: str) -> Callable[[Element, Converted], None] | None:
    if name in SETTINGS:
        return convert_setting
    return convert_each if name in EACH else SECTIONS.get(name)


def convert_each(group: Element, found: Converted) -> None:
    for one in group.children:
        found.parts.name(EACH[group.name], one.path)


def convert_wildcards(group: Element, found: Converted) -> None:
    for one in group.children:
        if one.name in PATTERNS:
            sort_out(PATTERNS, one.name, one.text, one.path, found)


def other_of(element: Element) -> NotHere | None:
    known = OTHERS.get(element.name) or PATTERNS.get(element.name)
    if known is not None:
        return known
    why = next((PREFIXES[p] for p in PREFIXES if element.name.startswith(p)), "")
    return NotHere(why) if why else None


def convert_setting(element: Element, found: Converted) -> None:
    """Name the corresponding Django setting in a comment."""
    name, kind, made = SETTINGS[element.name]
    try:
        if placeholders.is_open(element.text):
            raise ValueError(placeholders.UNKNOWN)
        value = made(value_of(kind, element.text))
    except ValueError as error:
        found.parts.name(str(error), element.path)
        return
    if value == getattr(defaults, name):
        found.parts.default(element.content)
    elif value != "":
        written = value if kind is bool else toml(value)
        found.parts.name(f"Set {name} = {written} (docs/settings.md).", element.path)


def convert_acceptors(group: Element, found: Converted) -> None:
    for one in group.children:
        found.parts.name(ENDPOINT, one.path)
        if "anycastPrefix=" in one.text or "multicastPrefix=" in one.text:
            found.parts.name(PREFIXED, one.path)


def convert_connections(group: Element, found: Converted) -> None:
    """Connections by AMQP to other brokers: a mirror copies all, the rest are links."""
    for connection in group.children:
        found.parts.name(
            "Make it a connection factory of a bridge, which connects again by itself"
            " (docs/bridges.md).",
            *connection.parts(),
        )
        for one in connection.children:
            found.parts.name(CLUSTER if one.name == "mirror" else LINK, one.path)


SECTIONS: Mapping[str, Callable[[Element, Converted], None]] = {
    "acceptors": convert_acceptors,
    "broker-connections": convert_connections,
    "wildcard-addresses": convert_wildcards,
}
