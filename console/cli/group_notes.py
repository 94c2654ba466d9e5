"""``backout dead-letter-group``: what people say of dead letters with one error."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from django.core.management.base import CommandError
from typer import Argument, Option

from broker.models import DeadLetterGroup
from broker.monitoring import dead_letter_groups
from broker.security.users import User as Person
from broker.security.users import named
from broker.sql import database_now
from console.accounts.permissions import CHANGE
from console.edges import people
from console.edges.options import Json, User
from console.edges.people import REFUSED
from console.messages.dead_letter_query import known_of

Print = Annotated[str, Argument(help="The fingerprint of the group.")]
Hours = Annotated[float, Option("--hours", help="For how long.", min=0.01, max=8760)]
Above = Annotated[
    int | None, Option(help="Not after it has more dead letters than this.", min=0)
]
Owner = Annotated[str, Option(help="The user who takes care of it.")]
Note = Annotated[str, Option(help="A note.")]
Ticket = Annotated[str, Option(help="A link to more.")]


def acknowledge(
    self: Any, fingerprint: Print, *, user: User = None, json: Json = False
) -> None:
    """Acknowledge a group until it is on another queue, or has another cause."""
    person = people.somebody(user)
    known = seen(person, fingerprint)
    tell(self, dead_letter_groups.acknowledge(fingerprint, person, known), json=json)


def snooze(
    self: Any,
    fingerprint: Print,
    *,
    hours: Hours,
    above: Above = None,
    user: User = None,
    json: Json = False,
) -> None:
    """Hide a group for some hours, or until it grows."""
    person = people.somebody(user)
    known = seen(person, fingerprint)
    until = database_now() + timedelta(hours=hours)
    said = dead_letter_groups.snooze(
        fingerprint, person, known, until=until, above=above
    )
    tell(self, said, json=json)


def ask_again(
    self: Any, fingerprint: Print, *, user: User = None, json: Json = False
) -> None:
    """Remove the acknowledgement or the snooze of a group."""
    seen(people.acting(user), fingerprint)
    tell(self, dead_letter_groups.ask_again(fingerprint), json=json)


def describe(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    fingerprint: Print,
    *,
    owner: Owner = "",
    note: Note = "",
    ticket: Ticket = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Replace owner, note and link of a group."""
    seen(people.acting(user), fingerprint)
    by = named(owner).filter(is_active=True).first() if owner else None
    if owner and by is None:
        raise CommandError(f"There is no active user {owner}.", returncode=REFUSED)
    said = dead_letter_groups.describe(fingerprint, owner=by, note=note, ticket=ticket)
    tell(self, said, json=json)


def seen(person: Person | None, fingerprint: str) -> dead_letter_groups.Known:
    """The queues and causes of a group that the user may see."""
    people.require(person, CHANGE)
    return known_of(person, fingerprint)


def tell(command: Any, one: DeadLetterGroup, *, json: bool) -> None:
    by = one.acknowledged_by
    told = {
        "fingerprint": one.fingerprint,
        "owner": one.owner.get_username() if one.owner else None,
        "note": one.note,
        "ticket": one.ticket,
        "acknowledged_by": by.get_username() if by else None,
        "snoozed_until": one.snoozed_until,
    }
    command.tell(told, f"Group {one.fingerprint} is changed.", as_json=json)
