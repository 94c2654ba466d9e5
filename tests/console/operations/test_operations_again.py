"""A wrong patch is taken back, and its messages get another, as pages have it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from broker import operations
from broker.models import Message, Operation
from console.accounts import roles
from tests.console.letters import attempt, die, make_places
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import PLAN, plan, said, started, url
from tests.make import make_user

pytestmark = pytest.mark.django_db

WRONG = {"how": "merge", "body": '{"currency": "EURO"}'}
RIGHT = {"how": "merge", "body": '{"currency": "EUR"}'}
BUTTON = "Repair and resubmit…"
AGAIN = "Plan a new operation for them…"


@pytest.fixture
def omar(client: Client) -> User:
    """Four orders are dead, of one cause."""
    user = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    client.force_login(user)
    make_places(attempts=1)
    for _ in range(4):
        die(body=b'{"currency": "XBT"}', attempts=1)
    return user


def group(client: Client) -> str:
    (row,) = client.get(reverse("console:dead_letters")).context["rows"]
    return reverse("console:dead_letter_group", args=[row.group.fingerprint])


def halted(client: Client) -> Operation:
    """With a wrong patch; one of four was sent."""
    operation = plan(client)
    assert client.post(url("repair", operation), WRONG).status_code == 302
    fields = {"canary": 1, "reason": "mended"}
    assert client.post(url("start", operation), fields).status_code == 302
    attempt("ValueError: no such currency")
    operations.step(operation.pk)
    return operation


def undone(client: Client) -> tuple[Operation, Operation]:
    operation = halted(client)
    client.post(url("undo", operation))
    undo = Operation.objects.get(undoes=operation)
    assert "1 put back" in started(client, undo)
    return operation, undo


def test_a_group_is_repaired_and_resubmitted_from_its_page(
    client: Client, omar: User
) -> None:
    page = client.get(group(client)).content.decode()
    assert BUTTON in words(page)
    assert BUTTON not in said(client, reverse("console:dead_letters"))

    answer = client.post(PLAN, {"repair": "1"})

    planned = Operation.objects.latest("pk")
    assert answer["Location"] == url("operation", planned) + "?repair=1"
    html = client.get(answer["Location"]).content.decode()
    assert 'value="merge" checked' in html
    assert " autofocus" in html
    assert "This plan has no patch yet" in words(html)
    assert 'disabled aria-describedby="no-start"' in html
    html = client.get(url("operation", planned)).content.decode()
    assert "autofocus" not in html
    assert 'aria-describedby="no-start"' not in html


def test_who_may_not_read_or_resubmit_finds_no_such_button(
    client: Client, omar: User
) -> None:
    page = group(client)
    for number, lacks in enumerate(("browse_queue", "resubmit_message")):
        may = {one for one in roles.ROLES["operator"] if not one.endswith(lacks)}
        client.force_login(make_user(f"ann-{number}", permissions=tuple(may)))
        assert BUTTON not in said(client, page)


def test_a_body_that_stays_as_it_is_needs_no_choice(client: Client, omar: User) -> None:
    operation = plan(client)
    fields = {"how": "merge", "body": "", "op_0": "set", "name_0": "subject"}

    answer = client.post(url("repair", operation), fields | {"value_0": "mended"})

    assert answer.status_code == 302
    page = said(client, url("operation", operation))
    assert "The patch fits 4 of 4." in page
    assert "put in: subject" in page
    assert "mended" in page


def test_what_is_wrong_with_a_patch_cannot_be_started_without_it(
    client: Client, omar: User
) -> None:
    operation = plan(client)

    answer = client.post(url("repair", operation), {"how": "merge", "body": "{"})

    assert answer.status_code == 422
    assert 'disabled aria-describedby="no-start"' in answer.content.decode()


def test_what_stopped_itself_is_undone_at_once(client: Client, omar: User) -> None:
    operation = halted(client)
    page = said(client, url("operation", operation))
    assert "It stopped itself." in page
    assert "Undo… Undo… stops it, too, and shows what can be put back." in page

    answer = client.post(url("undo", operation))

    undo = Operation.objects.get(undoes=operation)
    assert answer["Location"] == url("operation", undo)
    assert "1 can be put back" in said(client, url("operation", undo))
    old = said(client, url("operation", operation))
    assert "1 sent 3 not touched" in old
    assert "omar cancelled it" in old


def test_who_lacks_an_authority_does_not_stop_it_either(
    client: Client, omar: User
) -> None:
    operation = halted(client)
    may = tuple(roles.ROLES["operator"])
    lacking = make_user("otto", permissions=may, granted=("inquire", "browse", "get"))
    client.force_login(lacking)

    assert client.post(url("undo", operation)).status_code == 403

    operation.refresh_from_db()
    assert operation.state == Operation.State.RUNNING


def test_all_of_them_are_planned_again_with_the_old_patch_in_the_form(
    client: Client, omar: User
) -> None:
    operation, undo = undone(client)
    assert AGAIN in said(client, url("operation", undo))
    assert AGAIN not in said(client, url("operation", operation))

    answer = client.post(url("again", undo))

    again = Operation.objects.latest("pk")
    assert answer["Location"] == url("operation", again) + f"?patch={operation.pk}"
    assert again.items.count() == 4
    html = client.get(answer["Location"]).content.decode()
    assert escape('{"currency":"EURO"}') in "".join(html.split())
    assert 'name="reason" maxlength="500" value="mended"' in html
    assert "The patch in the form is not part of this plan yet" in words(html)
    assert f"omar planned it, to do operation {operation.pk} again" in words(html)
    assert client.post(url("repair", again), RIGHT).status_code == 302
    assert "The patch fits 4 of 4." in said(client, url("operation", again))
    client.post(url("start", again), {"canary": 0})
    copies = again.items.values_list("copy_id", flat=True)
    bodies = {bytes(one.body) for one in Message.objects.filter(pk__in=copies)}
    assert bodies == {b'{"currency": "EUR"}'}
    assert attempt(limit=10), "they are there"


def test_only_what_had_a_patch_and_was_undone_is_planned_again(
    client: Client, omar: User
) -> None:
    operation = plan(client)
    started(client, operation)
    assert client.post(url("again", operation)).status_code == 409
    client.post(url("undo", operation))
    undo = Operation.objects.get(undoes=operation)
    assert client.post(url("again", undo)).status_code == 409

    started(client, undo)

    assert AGAIN not in said(client, url("operation", undo))


def test_who_may_not_read_them_plans_nothing_again(client: Client, omar: User) -> None:
    _, undo = undone(client)
    before = Operation.objects.count()
    may = tuple(roles.ROLES["operator"])
    some = make_user("otto", permissions=may, granted=("inquire", "get", "put"))
    client.force_login(some)

    assert client.post(url("again", undo)).status_code == 403

    viewer = make_user("vera", permissions=tuple(roles.ROLES["viewer"]))
    client.force_login(viewer)
    assert AGAIN not in said(client, url("operation", undo))
    assert client.post(url("again", undo)).status_code == 403
    assert Operation.objects.count() == before
