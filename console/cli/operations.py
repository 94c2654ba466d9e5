"""``backout operation``: what a plan does, its course, and its undo."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.management.base import CommandError
from django.db import transaction
from typer import Argument, Option

from broker import operations
from broker.models import Operation
from broker.operations import Only, rate_limit
from broker.security.users import User as Person
from console.accounts import permissions
from console.cli import works
from console.edges import people, telling
from console.edges.options import Json, Limit, Reason, User, Yes
from console.edges.people import REFUSED
from console.operations import approvals, patch_changes, results, starting
from console.operations import course as courses
from console.operations.permissions import require_sight, require_ways, seen_by
from console.operations.results import Ledger

Number = Annotated[int, Argument(help="Its number.", min=1, max=2**63 - 1)]
Seal = Annotated[str, Option(help="The seal of the plan, as show tells it.")]
AtOnce = Annotated[
    bool, Option("--at-once", help="The whole rest, without a further trial.")
]
Rate = Annotated[
    int | None,
    Argument(min=1, max=rate_limit.FASTEST, help="Messages a second; without: all."),
]
Count = Annotated[int, Argument(min=1, max=2**31 - 1, help="How many messages.")]
Sample = Annotated[
    bool, Option("--sample", help="A random sample, not the first messages.")
]
Canary = Annotated[int | None, Option(min=0, help="Messages of the trial; 0: none.")]


def list_all(
    self: Any, *, limit: Limit = 50, user: User = None, json: Json = False
) -> None:
    """List operations, the newest first."""
    person = people.acting(user)
    people.require(person, "broker.view_queue")
    about = ("created_by", "course", "approval__approved_by")
    found = list(seen_by(person).select_related(*about).order_by("-pk")[:limit])
    counts = results.counts_of([one.pk for one in found])
    rows = [
        {
            "operation": one.pk,
            "kind": one.kind,
            "state": one.state,
            "scope": one.scope,
            "planned": counts[one.pk]["planned"],
            "done": counts[one.pk]["done"],
            "skipped": counts[one.pk]["skipped"],
            "created_by": one.created_by.get_username(),
            "created_at": one.created_at,
        }
        for one in found
    ]
    self.tell_rows("operations", rows, as_json=json, empty="There is no operation.")


def show(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Show one operation: where its messages go, and how far it has come."""
    person = people.acting(user)
    people.require(person, "broker.view_queue")
    found, _ = seen(person, number)
    tell(self, person, found.pk, as_json=json)


def start(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    number: Number,
    *,
    pace: Annotated[int | None, Option(min=1, max=rate_limit.FASTEST)] = None,
    canary: Canary = None,
    reason: Reason = "",
    user: User = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Start a plan; housekeeping does the rest of a large one."""
    person = changer(user)
    with transaction.atomic():
        planned, ledger = seen(person, number)
        require_ways(person, planned, ledger)
        if yes:
            if pace is not None or canary is not None:
                trial = operations.usual_canary(planned) if canary is None else canary
                operations.arrange(number, pace=pace, canary=trial)
            starting.start(person, planned, ledger, reason.strip())
    if not yes:
        self.stderr.write("Nothing is done yet; --yes starts it.")
    tell(self, person, number, as_json=json)


def approve(
    self: Any,
    number: Number,
    *,
    seal: Seal,
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Approve exactly the plan with this seal, as a second person."""
    person = people.somebody(user)
    people.require(person, approvals.MAY)
    with transaction.atomic():
        found, _ = seen(person, number)
        approvals.agree(person, found, seal, reason.strip())
    tell(self, person, number, as_json=json)


def explain(
    self: Any, number: Number, *, reason: Reason, user: User = None, json: Json = False
) -> None:
    """Tell the second person why a plan should be approved."""
    person = changer(user)
    seen(person, number)
    operations.explain(number, person, reason.strip())
    tell(self, person, number, as_json=json)


def cancel(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Stop an operation for good; what it has done stays done."""
    person = changer(user)
    with transaction.atomic():
        seen(person, number)
        operations.cancel(number)
    tell(self, person, number, as_json=json)


def undo(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Plan the undo of an operation; one that stopped itself ends. Start that plan to
    undo it."""
    person = changer(user)
    with transaction.atomic():
        seen(person, number)
        plan = operations.stop_and_plan_undo(person, number)
        require_ways(person, plan, results.ledger_of(plan))
    tell(self, person, plan.pk, as_json=json)


def pause(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Pause an operation until it is continued."""
    person = changer(user)
    with transaction.atomic():
        seen(person, number)
        operations.pause(number)
    tell(self, person, number, as_json=json)


def carry_on(
    self: Any,
    number: Number,
    *,
    at_once: AtOnce = False,
    user: User = None,
    json: Json = False,
) -> None:
    """Continue after a pause, or after the operation stopped itself."""
    person = changer(user)
    with transaction.atomic():
        found, ledger = seen(person, number)
        require_ways(person, found, ledger)
        operations.carry_on(number, at_once=at_once)
    tell(self, person, number, as_json=json)


def pace(
    self: Any,
    number: Number,
    rate: Rate = None,
    *,
    user: User = None,
    json: Json = False,
) -> None:
    """Change its rate limit, or remove it."""
    person = changer(user)
    with transaction.atomic():
        seen(person, number)
        operations.set_pace(number, rate)
    tell(self, person, number, as_json=json)


def narrow(
    self: Any,
    number: Number,
    messages: Count,
    *,
    sample: Sample = False,
    user: User = None,
    json: Json = False,
) -> None:
    """Keep only a part of a plan; the other messages are taken out of it."""
    person = changer(user)
    with transaction.atomic():
        seen(person, number)
        operations.narrow(number, Only(messages, sampled=sample))
    tell(self, person, number, as_json=json)


def take_in(
    self: Any,
    number: Number,
    *,
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Add to a plan what was left out: resubmitted too often, or notices of links."""
    person = changer(user)
    with transaction.atomic():
        found, _ = seen(person, number)
        operations.take_in(number, reason.strip())
        require_ways(person, found, results.ledger_of(found))
    tell(self, person, number, as_json=json)


def rest(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Cancel a repair that stopped itself, and plan what it left."""
    person = changer(user)
    people.require(person, "broker.browse_queue")
    with transaction.atomic():
        stopped, _ = seen(person, number)
        patch_changes.require(person, stopped)
        plan = operations.plan_rest(person, number)
    tell(self, person, plan.pk, as_json=json)


def changer(name: str | None) -> Person:
    """The user who changes an operation."""
    person = people.somebody(name)
    people.require(person, permissions.CHANGE)
    return person


def seen(person: Person | None, number: int) -> tuple[Operation, Ledger]:
    """An operation that the user may see."""
    found = Operation.objects.filter(pk=number).first()
    if found is None:
        raise CommandError(f"There is no operation {number}.", returncode=REFUSED)
    ledger = results.ledger_of(found)
    require_sight(person, ledger)
    return found, ledger


def tell(command: Any, person: Person | None, number: int, *, as_json: bool) -> None:
    """An operation as it is now."""
    about = ("created_by", "course", "approval__approved_by")
    found = Operation.objects.select_related(*about).get(pk=number)
    ledger = results.ledger_of(found)
    course, approval = courses.course_of(found), getattr(found, "approval", None)
    told = works.told(person, found, ledger, state=found.state) | {
        "stage": course.stage,
        "pace": course.pace,
        "seal": approval.seal if approval else None,
    }
    scope = telling.in_words(told["scope"])
    words = f"Operation {number}, {told['state']}: {scope}."
    lines = [
        f"{words} {ledger.done:,} done, {ledger.skipped:,} skipped,"
        f" {ledger.planned:,} to do."
    ]
    if told["left_out_because"]:
        lines.append(told["left_out_because"])
    if approval is not None and approval.approved_at is None:
        lines.append(f"It waits for approval; its seal is {approval.seal}.")
    command.tell(told, "\n".join(lines), as_json=as_json)
