"""Which settings an address has: the most specific that defines each field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker.models import AddressSetting
from broker.wildcards import matches, specificity

Policy = AddressSetting.PoisonPolicy

DEFAULTS: dict[str, Any] = {
    "max_delivery_attempts": 10,
    "dead_letter_address": "",
    "redelivery_delay_ms": 0,
    "redelivery_delay_multiplier": 1.0,
    "redelivery_collision_avoidance_factor": 0.0,
    "max_redelivery_delay_ms": None,  # ten times the merged delay
    "expiry_address": "",
    "poison_policy": None,  # by whether the queue has a threshold
    "discard_retention_s": 7 * 24 * 3600,
    "send_to_dla_on_no_route": False,
    "auto_create_dead_letter_resources": False,
    "dead_letter_queue_prefix": "DLQ.",
    "dead_letter_queue_suffix": "",
    "auto_create_expiry_resources": False,
    "expiry_queue_prefix": "EXP.",
    "expiry_queue_suffix": "",
    "auto_delete_queues_delay_ms": 0,
    "no_expiry": False,
    "expiry_delay_ms": -1,
    "min_expiry_delay_ms": -1,
    "max_expiry_delay_ms": -1,
}


def settings_for(address: str) -> AddressSetting:
    """The merged settings of an address, as they are now. One query, never cached."""
    return merge(address, AddressSetting.objects.all())


def merge(address: str, settings: Iterable[AddressSetting]) -> AddressSetting:
    """One setting with every field decided; the given ones stay as they are.

    Each field is decided alone: by the most specific pattern that defines it, or by
    ``DEFAULTS``. An empty text is a definition.

    Source:
        ActiveMQ Artemis, AddressSettings.merge and HierarchicalObjectRepository.
    """
    matching = sorted(
        (setting for setting in settings if matches(setting.match, address)),
        key=lambda setting: specificity(setting.match),
    )
    return AddressSetting(
        match=address,
        **{
            field: next(
                (
                    value
                    for setting in matching
                    if (value := getattr(setting, field)) is not None
                ),
                default,
            )
            for field, default in DEFAULTS.items()
        },
    )


def policy_of(setting: AddressSetting, threshold: int) -> AddressSetting.PoisonPolicy:
    """Who moves poison messages away from a queue.

    Args:
        setting: of the queue's address, merged.
        threshold: of the queue.
    """
    if setting.poison_policy is not None:
        return Policy(setting.poison_policy)
    return Policy.IBM if threshold else Policy.ARTEMIS
