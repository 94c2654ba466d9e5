"""Each act at each door, by those who may not: the same answer, and nothing changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from broker.acts import ACTS, may
from broker.acts.queues import PauseQueue
from broker.models import AuditRecord, QueueAlias
from broker.security import authorities
from broker.security.authorities import Authority
from tests.console.act_doors import (
    COMMANDS,
    DECLARED,
    Example,
    refusals,
    routes,
    through_command,
    through_rest,
)
from tests.console.act_examples import EXAMPLES
from tests.console.conftest import SignIn
from tests.console.operations import acts_operations
from tests.console.queues import acts_queues
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r'"20\d\d-\d\d-\d\dT[^"]*"')
NEW = re.compile(r'("(?:message_|operation_)?id":|"secret": "bo_) *\w+')
TOO_LONG = "x" * 501
PLANNING = {*acts_operations.PLANS, "resubmit_through_link"}  # need what a plan needs
NAMED = {name: one for name, one in EXAMPLES.items() if one.absent}


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", sorted(names))


def state(example: Example) -> list[Any]:
    return [
        list(one._default_manager.order_by("pk").values()) for one in example.changes
    ]


def vera(name: str, granted: tuple[Authority, ...]) -> User:
    """Somebody with the permission for an act."""
    permissions = DECLARED[name].permissions
    return make_user("vera", permissions=permissions, granted=granted)


def assert_refused(
    user: User, act: str, status: int, said: str, /, **fields: Any
) -> None:
    """REST and the page answer with one status, commands with 1; all say the same,
    and each attempt is one record."""
    one, example = DECLARED[act], EXAMPLES[act]
    before = state(example)

    answers = list(refusals(user, example, example.request(**fields)))

    of_page = example.gone if status == 404 else status
    assert [one.status for one in answers] == [status, of_page, 1]
    for answer in answers:
        if status != 404 or answer.door == "command":
            assert said in answer.said.replace("&#x27;", "'"), answer
    assert state(example) == before
    records = AuditRecord.objects.filter(outcome="refused").order_by("pk")
    told = [(record.act, record.actor) for record in records]
    assert told == [(one.recorded_as, user.get_username())] * len(answers)


def test_each_act_is_tried_and_has_all_doors() -> None:
    names = {one.name for one in ACTS.values()}
    assert names == set(EXAMPLES) == set(COMMANDS)
    assert names <= set(routes())


@each(EXAMPLES)
def test_without_the_permission(name: str) -> None:
    fields = EXAMPLES[name].make()
    user = make_user("vera", granted=authorities.ALL)
    said = f"permission {DECLARED[name].permission} is missing"
    assert_refused(user, name, 403, said, **fields)


@each(EXAMPLES.keys() - acts_operations.STEERING)  # their plans are made at one door
def test_the_command_prints_what_the_interface_answers(name: str) -> None:
    reason = {"reason": "As agreed."} if DECLARED[name].needs_reason else {}
    request = EXAMPLES[name].request(**EXAMPLES[name].make(), **reason)
    user = vera(name, granted=authorities.ALL)
    EXAMPLES[name].give(user)

    with transaction.atomic():
        answer = through_rest(user, request)
        transaction.set_rollback(True)
    printed = through_command(user, request)

    assert answer.status_code == 200, answer.content
    assert facts_in(printed) == facts_in(answer.content.decode())


def facts_in(text: str) -> Any:
    """A JSON document, but for what differs from order to order."""
    return json.loads(NEW.sub(r"\1 0", MOMENT.sub('"a time"', text)))


@each(name for name, one in EXAMPLES.items() if one.is_hidden)
def test_what_is_hidden_is_missing(name: str) -> None:
    fields = EXAMPLES[name].make()
    user = vera(name, granted=())
    assert_refused(user, name, 404, EXAMPLES[name].missing, **fields)


@each(NAMED)
def test_what_is_not_there(name: str) -> None:
    user = vera(name, granted=authorities.ALL)
    assert_refused(user, name, 404, EXAMPLES[name].missing, **EXAMPLES[name].absent)


@each(NAMED)
def test_a_page_of_what_is_not_there_leaves_no_record(name: str) -> None:
    example, client = EXAMPLES[name], Client()
    may = ("broker.view_queue", *DECLARED[name].permissions)
    client.force_login(make_user("vera", permissions=may, granted=authorities.ALL))
    url = reverse(example.page, args=[example.absent[one] for one in example.about])

    assert client.get(url).status_code in (302, 404, 405)

    assert not AuditRecord.objects.filter(outcome="refused").exists()


@each(
    name
    for name, one in DECLARED.items()
    if one.authorities or one.rules or name in PLANNING
)
def test_without_an_authority(name: str) -> None:
    fields = EXAMPLES[name].make()
    user = vera(name, granted=("inquire",))
    said = f"lacks the authority '{EXAMPLES[name].lacking}'"
    assert_refused(user, name, 403, said, **fields)


@each(
    name
    for name, one in DECLARED.items()
    if "reason" in {field.name for field in one.fields}
    and name not in acts_operations.EXAMPLES  # their pages say it on another page
)
def test_a_reason_that_is_too_long(name: str) -> None:
    fields = EXAMPLES[name].make()
    user = vera(name, granted=authorities.ALL)
    assert_refused(user, name, 422, "500 characters", **{**fields, "reason": TOO_LONG})


@each(name for name, one in DECLARED.items() if one.needs_reason)
def test_without_a_reason(name: str) -> None:
    fields, example = EXAMPLES[name].make(), EXAMPLES[name]
    user, before = vera(name, granted=authorities.ALL), state(example)

    answers = list(refusals(user, example, example.request(**fields, reason=" ")))

    assert [answer.status for answer in answers] == [400, 422, 1]
    for answer in answers:
        assert ("needs a reason" in answer.said) == (answer.door != "page"), answer
    assert state(example) == before
    # a form without what it requires is no order
    assert AuditRecord.objects.filter(outcome="refused").count() == 2


@each(acts_queues.EXAMPLES)
def test_an_alias_is_a_name_for_the_api_and_commands_and_has_no_page(
    name: str, sign_in: SignIn
) -> None:
    example = EXAMPLES[name]
    fields = example.make()
    QueueAlias.objects.create(name="sales", target="orders")
    operator = sign_in("operator")
    url = reverse(example.page, args=["sales"])

    pages = {operator.post(url).status_code, operator.get(url).status_code}

    assert pages <= {302, 404, 405}
    user = User.objects.get(username="operator")
    request = replace(example.request(**fields), queue="sales")
    assert through_rest(user, request).json()["queue"] == "orders"


def test_who_may_and_who_may_not_is_told_without_an_order() -> None:
    make_queue("orders")
    before = state(EXAMPLES["pause_queue"])
    vera = make_user("vera", granted=("inquire",))
    ada = make_user("ada", permissions=("broker.pause_queue",))

    why = may(vera, PauseQueue("orders"))

    assert why is not None
    assert why.startswith("The permission broker.pause_queue is missing.")
    assert may(ada, PauseQueue("orders")) is None
    assert may(None, PauseQueue("orders")) is None
    assert state(EXAMPLES["pause_queue"]) == before
    assert not AuditRecord.objects.filter(outcome="refused").exists()
