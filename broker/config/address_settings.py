"""The settings of an address: for each field, the most specific pattern decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from broker.formats.wildcards import configured, matches, specificity
from broker.models import AddressSetting

Policy = AddressSetting.PoisonPolicy
WEEK_S = 7 * 24 * 3600
CREATE = gettext_noop("Create queues automatically")
PREFIX = gettext_noop("Prefix of their names")
SUFFIX = gettext_noop("Suffix of their names")
RESTORABLE = gettext_noop("Discarded ones can be restored for")
NO_ROUTE = gettext_noop("Dead-letter messages that reach no queue")


class Group(StrEnum):
    """Attributes that belong together, in the order of pages."""

    POISON = gettext_noop("Poison messages")
    REDELIVERY = gettext_noop("Redelivery")
    DEAD_LETTERS = gettext_noop("Dead letters")
    EXPIRY = gettext_noop("Expiry")
    ARRIVAL = gettext_noop("Arrival")
    AUTOMATIC = gettext_noop("Automatic queues")
    ENDED = gettext_noop("Messages that have ended")


class SettingAttribute(NamedTuple):
    """One attribute of an address setting; its unit is the ending of its name."""

    group: Group
    title: str
    default: Any
    is_of_artemis: bool = True  # Artemis has it, too, under the same name with hyphens.


POISON, AGAIN, LETTERS, EXPIRY, ARRIVAL, AUTO, ENDED = Group
ATTRIBUTES: Mapping[str, SettingAttribute] = {
    name: SettingAttribute(*told)
    for name, *told in (
        ("max_delivery_attempts", POISON, gettext_noop("Max delivery attempts"), 10),
        ("dead_letter_address", POISON, gettext_noop("Dead letter address"), ""),
        ("redelivery_delay_ms", AGAIN, gettext_noop("Redelivery delay"), 0),
        (
            "redelivery_delay_multiplier",
            AGAIN,
            gettext_noop("Multiplier after each backout"),
            1.0,
        ),
        (
            "redelivery_collision_avoidance_factor",
            AGAIN,
            gettext_noop("Collision avoidance"),
            0.0,
        ),
        # None: ten times the redelivery delay.
        ("max_redelivery_delay_ms", AGAIN, gettext_noop("Max redelivery delay"), None),
        ("expiry_address", EXPIRY, gettext_noop("Expiry address"), ""),
        # None: decided by whether the queue has a backout threshold.
        ("poison_policy", POISON, gettext_noop("Poison policy"), None, False),
        ("discard_retention_s", ENDED, RESTORABLE, WEEK_S, False),
        # None: the setting BROKER_MESSAGE_RETENTION_DAYS of Django.
        ("message_retention_s", ENDED, gettext_noop("Stay readable for"), None, False),
        ("send_to_dla_on_no_route", LETTERS, NO_ROUTE, False),
        ("auto_create_dead_letter_resources", LETTERS, CREATE, False),
        ("dead_letter_queue_prefix", LETTERS, PREFIX, "DLQ."),
        ("dead_letter_queue_suffix", LETTERS, SUFFIX, ""),
        ("auto_create_expiry_resources", EXPIRY, CREATE, False),
        ("expiry_queue_prefix", EXPIRY, PREFIX, "EXP."),
        ("expiry_queue_suffix", EXPIRY, SUFFIX, ""),
        (
            "auto_delete_queues_delay_ms",
            AUTO,
            gettext_noop("Empty queues are kept for"),
            0,
        ),
        ("no_expiry", ARRIVAL, gettext_noop("Arriving messages never expire"), False),
        (
            "expiry_delay_ms",
            ARRIVAL,
            gettext_noop("Expiry of messages without one"),
            -1,
        ),
        ("min_expiry_delay_ms", ARRIVAL, gettext_noop("Shortest expiry"), -1),
        ("max_expiry_delay_ms", ARRIVAL, gettext_noop("Longest expiry"), -1),
    )
}
DEFAULTS = {name: one.default for name, one in ATTRIBUTES.items()}


def in_group(group: Group) -> list[str]:
    return [name for name, one in ATTRIBUTES.items() if one.group is group]


@dataclass(frozen=True, slots=True)
class Definition:
    """The value of a field in one setting."""

    match: str
    value: Any


@dataclass(frozen=True, slots=True)
class Decision:
    """The value of one field of an address, and the setting that decided it."""

    field: str
    value: Any  # None: derived from other fields (``DEFAULTS``)
    decided_by: str | None  # the pattern of the setting; None for the built-in default
    # Definitions of less specific patterns, the nearest first.
    passed_over: Sequence[Definition]

    @property
    def why(self) -> str:
        if self.decided_by is None:
            return "No setting that matches defines it: this is the built-in default."
        if not self.passed_over:
            return f"{self.decided_by} alone defines it."
        names = ", ".join(one.match for one in self.passed_over)
        return f"{self.decided_by} is more specific than {names}."


def settings_for(address: str) -> AddressSetting:
    """The merged settings of an address, as they are now. One query; the result is
    never cached."""
    return merge(address, AddressSetting.objects.all())


def decisions(address: str) -> list[Decision]:
    """The decision for each field of an address, as it is now. One query."""
    return decided(address, AddressSetting.objects.all())


def merge(address: str, settings: Iterable[AddressSetting]) -> AddressSetting:
    """One setting with a value for every field; the given settings are not changed.

    Source:
        ActiveMQ Artemis, AddressSettings.merge and HierarchicalObjectRepository.
    """
    found = decided(address, settings)
    return AddressSetting(match=address, **{one.field: one.value for one in found})


def decided(address: str, settings: Iterable[AddressSetting]) -> list[Decision]:
    """The decision for each field, in the order of ``DEFAULTS``.

    Each field is decided separately: by the most specific pattern that defines it, or
    by ``DEFAULTS``. An empty text is a definition.
    """
    matching = by_specificity(address, settings)
    return [decide(field, matching) for field in DEFAULTS]


def by_specificity(
    address: str, settings: Iterable[AddressSetting]
) -> list[AddressSetting]:
    """The settings that match an address, the most specific first."""
    syntax = configured()
    return sorted(
        (one for one in settings if matches(one.match, address, syntax)),
        key=lambda one: specificity(one.match, syntax),
    )


def decide(field: str, matching: Iterable[AddressSetting]) -> Decision:
    """The decision for one field: the first setting that defines it decides."""
    defined = [
        Definition(one.match, value)
        for one in matching
        if (value := getattr(one, field)) is not None
    ]
    if not defined:
        return Decision(field, DEFAULTS[field], None, ())
    first, *rest = defined
    return Decision(field, first.value, first.match, tuple(rest))


def policy_of(setting: AddressSetting, threshold: int) -> AddressSetting.PoisonPolicy:
    """The poison policy of a queue: who moves poison messages away from it.

    Args:
        setting: the merged settings of the queue's address.
        threshold: the backout threshold of the queue; 0: not set.
    """
    if setting.poison_policy is not None:
        return Policy(setting.poison_policy)
    return Policy.IBM if threshold else Policy.ARTEMIS
