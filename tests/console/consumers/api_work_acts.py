"""What the API changes of messages that consumers hold, that are discarded, delayed or
edited, and of what links could not carry, as ``api_acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from broker import operations
from broker.models import Act
from broker.queueing.put import put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.handling import stopped
from tests.console.acts import WHY, letter, plan, prepared, waiting
from tests.console.bridges.bridge_acts import branch, linked
from tests.console.bridging import die_of_link
from tests.console.dead_letters.test_discards import throw_away
from tests.console.operations.again_acts import one_of_two, undo_of_one
from tests.console.own_acts import Case
from tests.make import make_messages, make_queue, make_recurring

API = "/api/v1"
LINK = f"{API}/bridges/shop/links/out"


def restore(_: Client) -> Case:
    said = WHY | {"messages": throw_away()}
    return f"{API}/discards/restore", said, Act.RESTORE


def put_recurring(_: Client) -> Case:
    make_queue()
    url = f"{API}/recurring-messages/{make_recurring().name}/put"
    return url, {}, Act.PUT_RECURRING


def held() -> int:
    """A unit of work that holds one message."""
    make_queue()
    put_many(make_messages(1))
    work = UnitOfWork(actor="shop.handle")
    work.get("orders")
    assert work.id is not None
    return work.id


def back_out_unit(_: Client) -> Case:
    return f"{API}/units-of-work/{held()}/back-out", WHY, Act.BACK_OUT_UNIT


def start_delivery(_: Client) -> Case:
    stopped()
    make_queue(settings.BROKER_DEAD_LETTER_QUEUE)
    return f"{API}/queues/orders/start-delivery", {}, Act.START_DELIVERY


def edit(_: Client) -> Case:
    said = WHY | {"body": {"a": 1}, "encoding": "json"}
    return f"{API}/messages/{letter().message_id}/edit", said, Act.PLAN


def narrow(_: Client) -> Case:
    return f"{API}/operations/{plan().pk}/narrow", {"messages": 1}, Act.ALTER


def explain(_: Client) -> Case:
    found, _seal = waiting()
    found.created_by = User.objects.get(username="administrator")
    found.save()
    return f"{API}/operations/{found.pk}/explain", WHY, Act.EXPLAIN


def rest(_: Client) -> Case:
    operation = one_of_two()
    operations.cancel(operation.pk)
    return f"{API}/operations/{operation.pk}/rest", {}, Act.PLAN


def again(_: Client) -> Case:
    return f"{API}/operations/{undo_of_one().pk}/again", {}, Act.PLAN


def resubmit_through_link(_: Client) -> Case:
    die_of_link(linked("STARTED"))
    return f"{LINK}/resubmit", {}, Act.PLAN


def commit_link_branch(_: Client) -> Case:
    return f"{LINK}/branches/{branch()}/commit", WHY, Act.DECIDE_BRANCH


def roll_back_link_branch(_: Client) -> Case:
    return f"{LINK}/branches/{branch()}/roll-back", WHY, Act.DECIDE_BRANCH


def commit_prepared_unit(_: Client) -> Case:
    return f"{API}/prepared/{prepared()}/commit", WHY, Act.COMMIT_PREPARED


def back_out_prepared_unit(_: Client) -> Case:
    return f"{API}/prepared/{prepared()}/back-out", WHY, Act.BACK_OUT_PREPARED


OPERATIONS: dict[str, Callable[[Client], Case]] = {
    "commit_prepared_unit": commit_prepared_unit,
    "back_out_prepared_unit": back_out_prepared_unit,
    "restore_messages": restore,
    "put_recurring_message": put_recurring,
    "back_out_unit_of_work": back_out_unit,
    "start_delivery": start_delivery,
    "edit_message": edit,
    "narrow_operation": narrow,
    "explain_operation": explain,
    "plan_rest": rest,
    "plan_again": again,
    "resubmit_through_link": resubmit_through_link,
    "commit_link_branch": commit_link_branch,
    "roll_back_link_branch": roll_back_link_branch,
}
