"""The effective settings of an address, as texts for their page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext, ngettext, pgettext

from broker.config.address_settings import (
    ATTRIBUTES,
    Decision,
    Group,
    Policy,
    in_group,
    policy_of,
)
from broker.config.auto_create import name_for
from broker.formats.quantities import write_count, write_stored
from broker.models import AddressSetting, Queue
from broker.settlement.redelivery_policy import longest_delay_ms
from broker.settlement.redelivery_schedule import Staircase

COUNTED_BY_BROKER = (Policy.ARTEMIS, Policy.BOTH)
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Passed:
    """The value of a less specific setting."""

    match: str
    words: str


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One field of an address: its value, and the reason."""

    title: str
    words: str
    decided_by: str | None
    why: str
    passed_over: Sequence[Passed]


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """Related rows."""

    title: str
    rows: Sequence[SettingRow]


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th …"""
    forms = {
        1: pgettext("ordinal", "%(n)sst"),
        2: pgettext("ordinal", "%(n)snd"),
        3: pgettext("ordinal", "%(n)srd"),
    }
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    form = forms.get(last) or pgettext("ordinal", "%(n)sth")
    return form % {"n": write_count(number)}


def deliveries(value: int) -> str:
    if value <= 0:
        return gettext("no limit")
    said = ngettext("%(n)s delivery", "%(n)s deliveries", value)
    return said % {"n": write_count(value)}


def lifetime(value: int) -> str:
    if value < 0:
        return gettext("none")
    return write_stored(value, "_ms") if value else gettext("at once")


def factor(value: float) -> str:
    return f"± {value * 100:g} %" if value else gettext("none")


def multiplier(value: float) -> str:
    return f"× {value:g}" if value != 1 else gettext("× 1, always the same")


def policy(value: str) -> str:
    return f"{value}: {Policy(value).label}"


WORDS: dict[str, Callable[[Any], str]] = {  # how to write the values of these fields
    "poison_policy": policy,
    "max_delivery_attempts": deliveries,
    "redelivery_delay_multiplier": multiplier,
    "redelivery_collision_avoidance_factor": factor,
    **dict.fromkeys(in_group(Group.ARRIVAL)[1:], lifetime),
}


def words(field: str, value: Any) -> str:
    """The text of a field's value; empty texts and -1 mean none."""
    if field in WORDS:
        return WORDS[field](value)
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, int) and value:
        return write_stored(value, "_s" if field.endswith("_s") else "_ms")
    if value:
        return str(value)
    return gettext("not at all") if field.endswith("_s") else gettext("none")


def groups(decisions: Sequence[Decision], merged: AddressSetting) -> list[SettingGroup]:
    """Every field in its group, as texts."""
    by_field = {one.field: one for one in decisions}
    return [
        SettingGroup(one, [row(by_field[name], merged) for name in in_group(one)])
        for one in Group
    ]


def row(decision: Decision, merged: AddressSetting) -> SettingRow:
    said, why = "", why_of(decision)
    if decision.value is not None:
        said = words(decision.field, decision.value)
    elif decision.field == "max_redelivery_delay_ms":
        said = words(decision.field, longest_delay_ms(merged))
        why = gettext("No setting defines it: ten times the redelivery delay.")
    elif decision.field == "poison_policy":
        said = gettext("by queue")
        why = gettext(
            "No setting defines it: ibm where the queue has a backout threshold, else"
            " artemis."
        )
    elif decision.field == "message_retention_s":
        said = words(decision.field, settings.BROKER_MESSAGE_RETENTION_DAYS * DAY_S)
        why = gettext("No setting defines it: BROKER_MESSAGE_RETENTION_DAYS.")
    passed = [
        Passed(one.match, words(decision.field, one.value))
        for one in decision.passed_over
    ]
    title = gettext(ATTRIBUTES[decision.field].title)
    return SettingRow(title, said, decision.decided_by, why, passed)


def why_of(decision: Decision) -> str:
    """Why a field has its value, as ``Decision.why`` says it in English."""
    if decision.decided_by is None:
        return gettext("Built-in default.")
    others = ", ".join(one.match for one in decision.passed_over)
    said = gettext("%(setting)s alone defines it.")
    if others:
        said = gettext("%(setting)s is more specific than %(others)s.")
    return said % {"setting": decision.decided_by, "others": others}


def as_counted(merged: AddressSetting) -> AddressSetting:
    """The settings as the broker applies them: attempts are limited only where messages
    are moved away at the limit. If that depends on the queue, the limit is assumed.
    """
    rule = AddressSetting(**{name: getattr(merged, name) for name in ATTRIBUTES})
    rule.match = merged.match
    if rule.poison_policy and rule.poison_policy not in COUNTED_BY_BROKER:
        rule.max_delivery_attempts = -1
    return rule


def ending(
    rule: AddressSetting, stairs: Staircase, fed: Collection[str], address: str
) -> str:
    """What happens to a message whose every delivery fails, in a sentence.

    Args:
        rule: from ``as_counted``.
        fed: the addresses that have a queue.
    """
    if stairs.limit is None:
        return gettext("Never: a message that always fails is redelivered for ever.")
    to, more = rule.dead_letter_address, ""
    values = {"nth": ordinal(stairs.limit), "to": to}
    if not to:
        said = gettext(
            "After the %(nth)s failed delivery the message is discarded: no dead letter"
            " address is set."
        )
        more = restorable(rule)
    elif to == address:
        said = gettext(
            "After the %(nth)s failed delivery the message stays: dead letters go here,"
            " and are not dead-lettered again."
        )
    elif rule.auto_create_dead_letter_resources:
        prefix, suffix = rule.dead_letter_queue_prefix, rule.dead_letter_queue_suffix
        values["queue"] = name_for(address, prefix or "", suffix or "")
        said = gettext(
            "After the %(nth)s failed delivery the message goes to %(to)s, on its queue"
            " %(queue)s, which is created automatically."
        )
    elif to not in fed:
        said = gettext(
            "After the %(nth)s failed delivery the message is discarded: %(to)s has no"
            " queue to take it."
        )
        more = restorable(rule)
    else:
        said = gettext("After the %(nth)s failed delivery the message goes to %(to)s.")
    return f"{said % values} {more}".rstrip()


def restorable(rule: AddressSetting) -> str:
    if not rule.discard_retention_s:
        return gettext("It cannot be restored.")
    time = write_stored(rule.discard_retention_s, "_s")
    return gettext("It can be restored for %(time)s.") % {"time": time}


def exceptions(merged: AddressSetting, queues: Sequence[Queue]) -> Iterator[str]:
    """Differences on some of the address's queues, in sentences."""
    for queue in queues:
        who = policy_of(merged, queue.backout_threshold)
        if who in (Policy.IBM, Policy.BOTH) and queue.backout_threshold:
            values = {
                "queue": queue.name,
                "to": queue.backout_queue or gettext("the broker’s dead letter queue"),
                "nth": ordinal(queue.backout_threshold),
            }
            said = gettext(
                "On queue %(queue)s a consumer moves the message to %(to)s when it gets"
                " it after its %(nth)s backout."
            )
            broker = gettext("The broker does not count here.")
            yield said % values + ("" if who is Policy.BOTH else f" {broker}")
        elif who is Policy.IBM:
            said = gettext(
                "On queue %(queue)s no consumer moves it away: the policy is ibm, and"
                " the queue has no backout threshold."
            )
            yield said % {"queue": queue.name}
