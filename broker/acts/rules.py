"""Acts on rules for the dead letters of a queue: save, switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, QueueName, declared
from broker.acts.visible_queues import find_queue
from broker.config.lint import advised
from broker.models import Act, RuleTable
from broker.operations import rules
from broker.operations.rules.parser import LENGTH
from broker.security import authorities
from broker.security.authorities import EVERYTHING, Principal

CHANGE = "broker.change_ruletable"
Mode = Literal["off", "observe", "active"]


@dataclass(frozen=True, slots=True)
class RulesState:
    """The rules of a queue."""

    columns: ClassVar[Sequence[str]] = (
        *("queue", "mode", "revision", "changed_by", "changed_at", "acts_for"),
        "trouble",
    )

    queue: str
    mode: str  # off, observe or active
    revision: int
    text: str  # the text as saved
    table: str  # the rules in the syntax of IBM MQ's runmqdlq
    changed_by: str | None
    changed_at: datetime
    # the user who set the mode; the rules act with this user's authority
    acts_for: str | None
    trouble: str  # why the rules do not run; empty if they run
    # Effects of the change that are probably not intended, each with its remedy.
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        state = f"The rules of {self.queue} are {self.mode}, revision {self.revision}."
        return "\n".join((state, *self.warnings))


def read_rules(row: RuleTable) -> RulesState:
    return RulesState(
        queue=row.queue.name,
        mode=row.mode,
        revision=row.revision,
        text=row.text,
        table=rules.write(rules.parsed(row)),
        changed_by=row.changed_by.get_username() if row.changed_by else None,
        changed_at=row.changed_at,
        acts_for=row.acts_for.get_username() if row.acts_for else None,
        trouble=row.trouble,
    )


def changed(
    actor: Principal, queue: str, change: Callable[[str], object]
) -> RulesState:
    """The rules after a change, with the warnings that it adds on queues that the actor
    may inquire."""
    name = find_queue(EVERYTHING, queue).name
    with advised() as found:
        change(name)
    held = authorities.held_by(actor)
    warnings = tuple(str(one) for one in found if held.on("inquire", one.queue))
    return replace(read_rules(rules.rules_of(name)), warnings=warnings)


@dataclass(frozen=True, slots=True)
class SaveRules:
    """The rules, and the revision that they replace."""

    queue: QueueName
    text: Annotated[
        str, Holds(gettext_noop("The rules as text."), most=LENGTH, is_file=True)
    ]
    revision: Annotated[
        int | None,
        Holds(
            gettext_noop(
                "Only if this revision is stored; 0: only if none is stored yet."
            ),
            least=0,
            most=2**31 - 1,
        ),
    ] = None


@declared(
    permission=CHANGE,
    recorded_as=Act.WRITE_RULES,
    authorities={"queue": "set"},
    needs_person=True,
)
def save_rules(actor: Principal, request: SaveRules) -> RulesState:
    """Save the rules for the dead letters of a queue.

    They are refused with all their errors, each with its line and column. Active rules
    that are changed are only observed, until somebody activates them.
    """

    def save(name: str) -> object:
        return rules.save(name, request.text, actor, revision=request.revision)

    return changed(actor, request.queue, save)


@dataclass(frozen=True, slots=True)
class SwitchRules:
    """The mode."""

    queue: QueueName
    mode: Annotated[Mode, Holds(gettext_noop("The mode."))]


@declared(
    permission=CHANGE,
    recorded_as=Act.SWITCH_RULES,
    authorities={"queue": "set"},
    needs_person=True,
)
def switch_rules(actor: Principal, request: SwitchRules) -> RulesState:
    """Switch the rules of a queue to off, observe or active.

    Active rules act with your authority.
    """
    return changed(
        actor, request.queue, lambda name: rules.switch(name, request.mode, actor)
    )
