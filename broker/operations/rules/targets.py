"""Where a rule sends a letter, by its own words or by the letter's."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from broker.operations.rules.matching import Letter
from broker.operations.rules.table import Action, Rule


@dataclass(frozen=True, slots=True)
class Target:
    """Where letters go; empty where they end or go back where each came from."""

    queue: str = ""
    as_user: str | None = None  # whose authority it takes, if not that of the rules
    why: str = ""  # it cannot be


def target_of(rule: Rule, letter: Letter) -> Target:
    """Where a letter goes. The broker is one queue manager, and has no others."""
    as_user = letter.texts["USERID"].rstrip() if rule.as_sender else None
    if rule.action is Action.DISCARD:
        return Target()
    if rule.action is Action.RETRY:
        return Target(letter.origin_queue, as_user)
    queue = meant(rule.forward_queue, letter).rstrip()
    manager = meant(rule.forward_manager, letter).rstrip()
    if not queue:
        why = f"{rule.forward_queue} is blank in the letter"
        return Target(queue, as_user, why)
    if manager not in ("", settings.BROKER_NAME):
        why = f"the queue manager {manager} is not this broker"
        return Target(queue, as_user, why)
    return Target(queue, as_user)


def meant(name: str, letter: Letter) -> str:
    """A name, or what the letter says in its place."""
    return letter.texts[name[1:]] if name.startswith("&") else name
