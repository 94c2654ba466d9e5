"""The target of a rule for a letter."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from broker.operations.rules.matching import Letter
from broker.operations.rules.table import Action, Rule


@dataclass(frozen=True, slots=True)
class Target:
    """The target queue of letters; empty if the letters are discarded."""

    queue: str = ""
    # Name of the user whose authorities apply, instead of those of the rules' user.
    as_user: str | None = None
    why: str = ""  # the reason why there is no target
    # Whether the letters themselves are moved to the queue, without their MQDLH,
    # because a program put them and the broker knows no originals.
    is_bare_move: bool = False


def target_of(rule: Rule, letter: Letter) -> Target:
    """The target of a rule for a letter. The broker is a single queue manager."""
    as_user = letter.texts["USERID"].rstrip() if rule.as_sender else None
    if rule.action is Action.DISCARD:
        return Target()
    if rule.action is Action.RETRY:
        # The broker knows no original that it could resubmit, so the letter itself is
        # moved.
        moves = not letter.has_story
        return Target(letter.origin_queue, as_user, is_bare_move=moves)
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
    """A name, or the value in the letter that the name stands for."""
    return letter.texts[name[1:]] if name.startswith("&") else name
