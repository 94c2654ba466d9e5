"""The states of a link, and the effect of each command. Pure functions.

Source:
    Open MQ, Administration Guide, "Bridge Services", imqbridgemgr; its ``Link``.
"""

from __future__ import annotations

from enum import StrEnum

from broker.errors.bridges import CommandRefused
from broker.models import LinkState

UNINITIALIZED, STARTING, STARTED, PAUSING, PAUSED, STOPPING, STOPPED = LinkState

NEVER_STARTED = "it was never started. Start it first."
IS_STOPPED = "it is stopped. Start it first."
IS_DISABLED = "it is disabled. Enable it under Settings first."


class Command(StrEnum):
    """A command of an operator."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


# The state that a command leads to. None: no effect. A text: the reason of a refusal.
OUTCOMES: dict[Command, dict[LinkState, LinkState | str | None]] = {
    Command.START: {
        UNINITIALIZED: STARTED,
        STARTING: None,
        STARTED: None,
        PAUSING: STARTED,
        PAUSED: STARTED,  # the same effect as resume
        STOPPING: STARTED,
        STOPPED: STARTED,
    },
    Command.PAUSE: {
        UNINITIALIZED: NEVER_STARTED,
        STARTING: PAUSED,
        STARTED: PAUSED,
        PAUSING: None,
        PAUSED: None,
        STOPPING: IS_STOPPED,
        STOPPED: IS_STOPPED,
    },
    Command.RESUME: {
        UNINITIALIZED: NEVER_STARTED,
        STARTING: None,
        STARTED: None,
        PAUSING: STARTED,
        PAUSED: STARTED,
        STOPPING: IS_STOPPED,
        STOPPED: IS_STOPPED,
    },
    Command.STOP: {
        UNINITIALIZED: NEVER_STARTED,
        STARTING: STOPPED,
        STARTED: STOPPED,
        PAUSING: STOPPED,
        PAUSED: STOPPED,
        STOPPING: None,
        STOPPED: None,
    },
}


def state_after(
    command: Command, state: LinkState, *, enabled: bool, link: str
) -> LinkState | None:
    """The state that a command leads to.

    Returns:
        STARTED, PAUSED or STOPPED; None if the command has no effect.

    Raises:
        CommandRefused: the command is not possible in this state.
    """
    if command is Command.START and not enabled:
        raise CommandRefused(link, command, state, IS_DISABLED)
    outcome = OUTCOMES[command][state]
    if isinstance(outcome, str) and outcome not in LinkState:
        raise CommandRefused(link, command, state, outcome)
    return None if outcome is None else LinkState(outcome)


def on_the_way(state: LinkState, to: LinkState) -> LinkState:
    """The state of a link between a command and the command's effect."""
    if to == PAUSED:
        return PAUSING
    if to == STOPPED:
        return STOPPING
    return state if state == STARTED else STARTING
