"""Elements of Artemis' address settings: those that are fields here, and the others.

Source:
    ActiveMQ Artemis manual, "Address Settings", with its defaults;
    artemis-configuration.xsd.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.config.address_settings import ATTRIBUTES
from broker.config.not_here import (
    CONSUMERS,
    GROUPS,
    KEEPS_ALL,
    ON_DISK,
    SLOW,
    UNKNOWN,
    NotHere,
    rows,
)

ELEMENTS = {  # elements of Artemis, by field of an address setting
    name: name.removesuffix("_ms").replace("_", "-")
    for name, one in ATTRIBUTES.items()
    if one.is_of_artemis
}
FIELDS = {element: name for name, element in ELEMENTS.items()}


DECLARED = (
    "Addresses and queues are declared here, and stay. Declare those that are made"
    " there when somebody names them."
)
METERED = "It concerns management. See docs/metrics.md and docs/rest.md."


OTHERS: Mapping[str, NotHere] = dict([
    *rows(ON_DISK, [
        "max-size-bytes", "max-size-messages", "max-size-bytes-reject-threshold",
        "page-limit-bytes", "page-limit-messages", "max-read-page-messages",
        "max-read-page-bytes", "prefetch-page-messages", "prefetch-page-bytes",
    ], "-1"),
    *rows(ON_DISK, ["page-size-bytes", "page-max-cache-size", "page-full-policy"]),
    *rows(ON_DISK, ["address-full-policy"], "PAGE"),
    *rows(
        "When the disk is nearly full, /readyz says no (BACKOUT_DISK_FULL_PERCENT).",
        ["disk-full-message-policy"],
    ),
    *rows(DECLARED, [
        "auto-create-jms-queues", "auto-create-jms-topics", "auto-create-queues",
        "auto-create-addresses", "auto-delete-jms-queues", "auto-delete-jms-topics",
        "auto-delete-queues", "auto-delete-addresses", "auto-delete-created-queues",
    ], "false"),
    *rows(DECLARED, [
        "auto-delete-addresses-delay", "auto-delete-queues-message-count",
    ], "0"),
    *rows(DECLARED, [
        "auto-delete-queues-skip-usage-check", "auto-delete-addresses-skip-usage-check",
    ], "false"),
    *rows(
        "backout apply --prune deletes what its file does not declare.",
        ["config-delete-queues", "config-delete-addresses", "config-delete-diverts"],
        "OFF",
    ),
    *rows(KEEPS_ALL, [
        "last-value-queue", "default-last-value-queue", "default-non-destructive",
        "default-purge-on-no-consumers",
    ], "false"),
    *rows(KEEPS_ALL, ["default-ring-size"], "-1"),
    *rows(KEEPS_ALL, ["default-last-value-key"]),
    *rows(KEEPS_ALL, ["retroactive-message-count"], "0"),
    *rows(GROUPS, [
        "default-group-rebalance", "default-group-rebalance-pause-dispatch",
    ], "false"),
    *rows(GROUPS, ["default-group-buckets"], "-1"),
    *rows(GROUPS, ["default-group-first-key"]),
    *rows(CONSUMERS, ["default-exclusive-queue"], "false"),
    *rows(CONSUMERS, ["default-max-consumers", "default-delay-before-dispatch"], "-1"),
    *rows(CONSUMERS, ["default-consumers-before-dispatch"], "0"),
    *rows(
        "Each client sets its own window, which is credit in AMQP.",
        ["default-consumer-window-size"],
    ),
    *rows(
        "Each queue says here whether it is anycast or multicast.",
        ["default-queue-routing-type", "default-address-routing-type"],
    ),
    *rows(
        "All processes share the queues here, so there is nothing to redistribute.",
        ["redistribution-delay"],
        "-1",
    ),
    *rows(SLOW, ["slow-consumer-threshold"], "-1"),
    *rows(SLOW, [
        "slow-consumer-policy", "slow-consumer-check-period",
        "slow-consumer-threshold-measurement-unit",
    ]),
    *rows(METERED, [
        "message-counter-history-day-limit", "management-browse-page-size",
        "management-message-attribute-size-limit",
    ]),
    *rows(METERED, ["enable-metrics"], "true"),
    *rows("The time of each put is kept here.", ["enable-ingress-timestamp"], "true"),
    *rows(
        "Only links of bridges detect duplicates here (docs/bridges.md).",
        ["id-cache-size"],
    ),
    *rows("It concerns the memory of the other broker.", ["initial-queue-buffer-size"]),
])  # fmt: skip


def not_here(name: str, text: str) -> str:
    """Why an element of an address setting is not kept, as a sentence; empty: it says
    what is so here anyway."""
    found = OTHERS.get(name, UNKNOWN)
    return "" if text in found.same or text.lower() in found.same else found.why
