"""Rules for dead letters, their preview and what they did, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from broker.acts.declaring import Holds
from broker.acts.rules import RulesState
from broker.acts.rules import read_rules as state_of
from broker.errors import NoSuchQueue
from broker.models import Queue, RuleTable
from broker.operations import rules as standing
from broker.operations.rules.parser import LENGTH
from broker.security import authorities
from broker.security.authorities import Principal
from console.dead_letters.queries.letters import VIEW
from console.edges.queries import (
    LARGEST,
    All,
    Limit,
    build_answer,
    declared_query,
    page_of,
)
from console.messages.dead_letter_query import names_for

QueueOfRules = Annotated[str, Holds("The queue of dead letters.", most=255)]


@dataclass(frozen=True, slots=True)
class EveryTable:
    """The rules of queues, by name."""

    empty: ClassVar = "No queue has rules."

    tables: list[RulesState]


@declared_query(VIEW)
def list_rules(actor: Principal, request: All) -> EveryTable:
    """The rules of all queues that the caller may inquire, by name."""
    every = RuleTable.objects.select_related("queue", "changed_by", "acts_for")
    visible = every.filter(queue__in=names_for(actor)).order_by("queue__name")
    return EveryTable([state_of(one) for one in visible])


@dataclass(frozen=True, slots=True)
class ReadRules:
    """The queue."""

    queue: QueueOfRules


@dataclass(frozen=True, slots=True)
class SavedRules(RulesState):
    """The rules of a queue, whose text commands print."""

    def __str__(self) -> str:
        return self.text


@declared_query(VIEW)
def read_rules(actor: Principal, request: ReadRules) -> SavedRules:
    """The rules of a queue, as saved, and in IBM MQ's syntax."""
    return build_answer(SavedRules, state_of(find_table(actor, request.queue)))


@dataclass(frozen=True, slots=True)
class PreviewRules:
    """The rules to preview; without a text, those that are saved."""

    queue: QueueOfRules
    text: Annotated[
        str | None,
        Holds("The rules as text.", most=LENGTH, is_file=True, is_argument=True),
    ] = None


@dataclass(frozen=True, slots=True)
class RuleState:
    """The effect of one rule now."""

    columns: ClassVar[Sequence[str]] = (
        *("rule", "line", "action", "matched", "acts", "warnings"),
    )

    rule: int  # the rule's number, from 1
    line: int
    action: str
    matched: int  # matching dead letters, regardless of earlier rules
    first: int  # dead letters that match this rule and no earlier one
    acts: int  # dead letters that this rule would act on now
    covered_by: int | None  # an earlier rule that matches all dead letters of this rule
    targets: dict[str, int]
    warnings: list[str]
    sample: list[int]


@dataclass(frozen=True, slots=True)
class Outlook:
    """The effect of a rule table on the present dead letters."""

    empty: ClassVar = "There is no rule in it."

    rules: list[RuleState]
    looked_at: int
    is_limited: bool
    unmatched: int
    waiting: int
    used_up: int
    unexplained: int  # messages whose reason is not known: no rule acts on them


@declared_query(VIEW)
def preview_rules(actor: Principal, request: PreviewRules) -> Outlook:
    """Try rules out.

    What each would do with the present dead letters; nothing is saved or changed.
    """
    name = request.queue
    authorities.require(actor, "inquire", name)
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise NoSuchQueue(name)
    text = standing.rules_of(name).text if request.text is None else request.text
    found = standing.preview(standing.read(text, queue=name), queue)
    rules = [
        build_answer(
            RuleState,
            one,
            rule=one.number,
            line=one.rule.line,
            action=one.rule.action.value,
            targets=dict(one.targets),
        )
        for one in found.rules
    ]
    return build_answer(Outlook, found, rules=rules)


@dataclass(frozen=True, slots=True)
class ReadPasses:
    """The queue, where the page begins (descending), and its size."""

    queue: QueueOfRules
    after: Annotated[
        int | None,
        Holds("The number after which the page begins.", least=1, most=LARGEST),
    ] = None
    limit: Limit = 20


@dataclass(frozen=True, slots=True)
class Pass:
    """The actions of one pass, or what it would have done."""

    columns: ClassVar[Sequence[str]] = (
        *("id", "mode", "revision", "began_at", "looked_at"),
    )

    id: int
    mode: str
    revision: int
    began_at: datetime
    looked_at: int
    deeds: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Passes:
    """A page of passes, the newest first; the next page begins after ``next``."""

    empty: ClassVar = "The rules have done nothing."

    passes: list[Pass]
    next: int | None


@declared_query(VIEW)
def read_passes(actor: Principal, request: ReadPasses) -> Passes:
    """The results of the rules.

    Passes that did something, or would have, the newest first.
    """
    every = find_table(actor, request.queue).passes.all()
    if request.after is not None:
        every = every.filter(pk__lt=request.after)
    found = list(every[: request.limit + 1])
    part, following = page_of(found, request.limit, lambda one: one.pk)
    return Passes(
        [build_answer(Pass, one) for one in part],
        following,
    )


def find_table(actor: Principal, queue: str) -> RuleTable:
    authorities.require(actor, "inquire", queue)
    return standing.rules_of(queue)
