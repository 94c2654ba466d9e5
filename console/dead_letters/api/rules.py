"""Dead-letter rules: preview, save, set the mode, and read the passes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.acts.rules import RulesState, read_rules, save_rules, switch_rules
from broker.errors import NoSuchQueue
from broker.models import Queue, RuleTable
from broker.operations import rules as standing
from broker.security import authorities
from console.edges.rest.acts import serve
from console.edges.rest.problems import NO_NUL, REFUSED, Problem, require
from console.edges.rest.requests import RequestBody
from console.messages.dead_letter_query import names_for

router = Router(tags=["dead letter rules"])


class EveryTable(Schema):
    tables: list[RulesState]


class Draft(RequestBody):
    """A rule table to preview; without a text, the saved one."""

    text: str | None = Field(default=None, max_length=200_000, pattern=NO_NUL)


class RuleState(Schema):
    """The effect of one rule now."""

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


class Outlook(Schema):
    """The effect of a rule table on the present dead letters."""

    rules: list[RuleState]
    looked_at: int
    is_limited: bool
    unmatched: int
    waiting: int
    used_up: int
    unexplained: int  # messages that stay: nothing says why they are here


class Pass(Schema):
    """The actions of one pass, or what it would have done."""

    id: int
    mode: str
    revision: int
    began_at: datetime
    looked_at: int
    deeds: list[dict[str, Any]]


class Passes(Schema):
    passes: list[Pass]
    next: int | None


class RulesQuery(Schema):
    after: int | None = Field(default=None, ge=1, lt=2**63)
    limit: int = Field(default=20, ge=1, le=200)


WHERE = "/queues/{queue:name}/dead-letter-rules"


@router.get(
    "/dead-letter-rules",
    response={200: EveryTable, **REFUSED},
    summary="The rules of all queues",
)
def list_rules(request: HttpRequest) -> dict[str, Any]:
    """Rule tables of the queues that the caller may inquire, by name."""
    require(request, "broker.view_queue")
    every = RuleTable.objects.select_related("queue", "changed_by", "acts_for")
    seen = every.filter(queue__in=names_for(request.user)).order_by("queue__name")
    return {"tables": [read_rules(one) for one in seen]}


@router.get(
    WHERE,
    response={200: RulesState, **REFUSED},
    summary="The rules of a queue",
    operation_id="read_rules",
)
def read_table(request: HttpRequest, name: Path[str]) -> RulesState:
    """The rule table as saved, and in IBM MQ's syntax."""
    return read_rules(visible_rules(request, name))


serve(router, "PUT", WHERE, save_rules, name="queue")
serve(router, "POST", f"{WHERE}/mode", switch_rules, name="queue")


@router.post(
    f"{WHERE}/preview",
    response={200: Outlook, 400: Problem, **REFUSED},
    summary="Try rules out",
)
def preview_rules(request: HttpRequest, name: Path[str], body: Draft) -> dict[str, Any]:
    """The effect of each rule on the present dead letters; changes nothing."""
    require(request, "broker.view_queue")
    authorities.require(request.user, "inquire", name)
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise NoSuchQueue(name)
    text = standing.rules_of(name).text if body.text is None else body.text
    found = standing.preview(standing.read(text, queue=name), queue)
    return {
        "rules": [state_of(one) for one in found.rules],
        "looked_at": found.looked_at,
        "is_limited": found.is_limited,
        "unmatched": found.unmatched,
        "waiting": found.waiting,
        "used_up": found.used_up,
        "unexplained": found.unexplained,
    }


@router.get(
    f"{WHERE}/passes",
    response={200: Passes, **REFUSED},
    summary="The results of the rules",
)
def read_passes(
    request: HttpRequest, name: Path[str], page: Query[RulesQuery]
) -> dict[str, Any]:
    """Passes that did something, or would have, the newest first."""
    every = visible_rules(request, name).passes.all()
    if page.after is not None:
        every = every.filter(pk__lt=page.after)
    found = list(every[: page.limit + 1])
    part = found[: page.limit]
    fields = ("id", "mode", "revision", "began_at", "looked_at", "deeds")
    return {
        "passes": [{name: getattr(one, name) for name in fields} for one in part],
        "next": part[-1].pk if len(found) > page.limit else None,
    }


def visible_rules(request: HttpRequest, name: str) -> RuleTable:
    require(request, "broker.view_queue")
    authorities.require(request.user, "inquire", name)
    return standing.rules_of(name)


def state_of(one: standing.RulePreview) -> dict[str, Any]:
    return {
        "rule": one.number,
        "line": one.rule.line,
        "action": one.rule.action.value,
        "matched": one.matched,
        "first": one.first,
        "acts": one.acts,
        "covered_by": one.covered_by,
        "targets": dict(one.targets),
        "warnings": one.warnings,
        "sample": one.sample,
    }
