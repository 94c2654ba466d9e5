"""Who may repair a message, and who may see what was repaired."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from broker.models import Operation, Ready
from console.accounts import roles
from tests.console.letters import die, make_places
from tests.console.messages.test_edits import BROKEN, FIXED, JSON, preview, url
from tests.make import make_authority, make_user

pytestmark = pytest.mark.django_db


def test_what_another_may_not_browse_is_not_in_the_difference(client: Client) -> None:
    make_places()
    letter = die(body=BROKEN, content_type=JSON)
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    client.force_login(omar)
    client.post(url(letter.message_id), preview(client, letter.message_id, body=FIXED))
    (child,) = Ready.objects.values_list("id", flat=True)
    vera = make_user(
        "vera",
        permissions=("broker.view_queue", "broker.browse_queue"),
        pattern="orders",
    )
    client.force_login(vera)

    page = client.get(
        reverse("console:message", args=[child]), follow=True
    ).content.decode()

    assert "EUR" in page
    assert "XBT" not in page


@pytest.mark.parametrize(
    ("permissions", "pattern", "status"),
    [
        (("broker.view_queue", "broker.browse_queue"), "#", 403),
        (("broker.view_queue", "broker.resubmit_message"), "#", 403),
        (tuple(roles.ROLES["operator"]), "orders", 404),
    ],
)
def test_who_may_not_read_and_resubmit_may_not_edit(
    client: Client, permissions: tuple[str, ...], pattern: str, status: int
) -> None:
    make_places()
    letter = die()
    client.force_login(make_user("vera", permissions=permissions, pattern=pattern))

    assert client.get(url(letter.message_id)).status_code == status


def test_who_may_not_put_where_it_goes_sends_nothing(client: Client) -> None:
    make_places()
    letter = die()
    user = make_user("omar", permissions=tuple(roles.ROLES["operator"]), pattern="DLQ")
    make_authority(user, "inquire", "browse", pattern="orders")
    client.force_login(user)

    answer = client.post(
        url(letter.message_id), preview(client, letter.message_id, subject="x")
    )

    assert answer.status_code == 403
    assert not Operation.objects.exists()
