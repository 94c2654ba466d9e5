"""``backout recurring list`` and ``put``."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.management.base import CommandError
from django_typer.management import TyperCommand
from typer import Argument

from broker.models import RecurringMessage
from broker.operations import recurring
from broker.security import authorities
from console.cli import people
from console.cli.objects import as_method
from console.cli.options import Json, Reason, User
from console.cli.people import REFUSED

Name = Annotated[str, Argument(help="Which.")]


def add_group(into: type[TyperCommand]) -> None:
    def group_recurring(self: Any) -> None:
        pass

    group_recurring.__annotations__ = {}  # self is no option
    made = into.group(name="recurring", help="Recurring messages.")(group_recurring)
    made.command(name="list")(as_method(list_all))
    made.command(name="put")(as_method(put))


def list_all(self: Any, user: User = None, json: Json = False) -> None:  # noqa: FBT002
    """List recurring messages and their next times."""
    person = people.acting(user)
    people.require(person, "broker.view_queue")
    held = authorities.held_by(person)
    rows = [
        {
            "name": one.name,
            "address": one.address,
            "when": one.words,
            "enabled": one.is_enabled,
            "last_at": one.last_at,
            "next_at": one.next_at,
            "problem": one.problem,
        }
        for one in RecurringMessage.objects.all()
        if held.on("inquire", one.address)
    ]
    empty = "There is no recurring message."
    self.tell_rows("recurring", rows, as_json=json, empty=empty)


def put(
    self: Any, name: Name, *, reason: Reason = "", user: User = None, json: Json = False
) -> None:
    """Put one now; its next time stays."""
    person = people.acting(user)
    people.require(person, "broker.put_recurringmessage")
    if not RecurringMessage.objects.filter(name=name).exists():
        raise CommandError(
            f"There is no recurring message {name!r}.", returncode=REFUSED
        )
    receipt = recurring.put_now(name, user=person, reason=reason)
    told = {"message_id": receipt.message_id, "queues": len(receipt.queue_ids)}
    said = f"Message {receipt.message_id} is put to {len(receipt.queue_ids)} queues."
    self.tell(told, said, as_json=json)
