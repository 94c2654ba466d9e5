"""What people say of groups of dead letters, on pages."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker.models import (
    AddressSetting,
    Authority,
    DeadLetterGroup,
    Discarded,
    Operation,
    Queue,
)
from broker.monitoring.dead_letters import Letter
from console.accounts import roles
from dashboards.live import attention
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.make import make_authority, make_user

GROUPS = reverse("console:dead_letters")


@pytest.fixture(autouse=True)
def _counted_anew() -> None:
    cache.clear()


@pytest.fixture
def letter(db: None) -> Letter:
    make_places()
    return die(now=timezone.now() - timedelta(minutes=5))


def url(letter: Letter) -> str:
    return reverse("console:dead_letter_group", args=[letter.fingerprint])


def say(client: Client, letter: Letter, deed: str, **fields: object) -> str:
    path = reverse(f"console:{deed}_group", args=[letter.fingerprint])
    answer = client.post(path, fields, follow=True)
    return words(answer.content.decode())


def look(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return words(answer.content.decode())


def test_the_badge_counts_groups_that_nobody_acknowledged(
    sign_in: SignIn, letter: Letter
) -> None:
    for _ in range(3):
        die()
    other = die("KeyError: 'name'")
    client = sign_in("operator")
    assert attention.count() == 2
    badge = '<data class="count count-dead" data-slot="groups"'
    assert badge in client.get(GROUPS).content.decode()

    said = say(client, letter, "acknowledge")

    assert "Acknowledged." in said
    assert attention.count() == 1
    say(client, other, "snooze", until="1 h")
    assert attention.count() == 0
    assert badge not in client.get(GROUPS).content.decode()


def test_an_operator_says_who_looks_after_a_group(
    sign_in: SignIn, letter: Letter
) -> None:
    client = sign_in("operator")
    olga = make_user("olga")
    link = "https://tickets.example.com/OPS-17"

    say(
        client,
        letter,
        "describe",
        owner=olga.get_username(),
        note="Row 7.\nAsk Ada.",
        ticket=link,
    )

    said = look(client, url(letter))
    assert "olga owns it" in said
    assert "Row 7." in said
    assert f'href="{link}" rel="noopener noreferrer nofollow"' in (
        client.get(url(letter)).content.decode()
    )
    assert "olga owns it" in look(client, GROUPS)
    assert "Row 7." in look(client, GROUPS)


def test_a_wrong_link_is_refused_and_what_was_typed_is_kept(
    sign_in: SignIn, letter: Letter
) -> None:
    client = sign_in("operator")
    path = reverse("console:describe_group", args=[letter.fingerprint])
    fields = {"note": "keep me", "ticket": "javascript:alert(1)"}

    answer = client.post(path, fields)

    html = answer.content.decode()
    assert answer.status_code == 422
    assert "is not a link to a ticket" in words(html)
    assert "keep me" in html
    assert 'href="javascript' not in html
    assert not DeadLetterGroup.objects.exists()


def test_notes_stay_text(sign_in: SignIn, letter: Letter) -> None:
    client = sign_in("operator")
    say(client, letter, "describe", note=EVIL)

    for path in (GROUPS, url(letter)):
        html = client.get(path).content.decode()
        assert "<script>alert" not in html


def test_what_is_put_off_says_until_when_and_asks_again(
    sign_in: SignIn, letter: Letter
) -> None:
    client = sign_in("operator")

    said = say(client, letter, "snooze", until="1 d", above="10")

    assert "snoozed it until" in said
    assert "or when it has more than 10 letters" in said
    assert "No group of dead letters is in this state" in look(
        client, f"{GROUPS}?standing=wanted"
    )
    DeadLetterGroup.objects.update(snoozed_until=timezone.now() - timedelta(seconds=1))
    assert "that time is over" in look(client, url(letter))
    assert "1 group" in look(client, f"{GROUPS}?standing=wanted")
    assert "The group needs attention again." in say(client, letter, "reopen")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "Choose how long to snooze it"),
        ({"until": "forever"}, "is no time"),
        ({"until": "soon"}, "is no time"),
        ({"until": "1 h", "above": "-1"}, "It must be 0 or more."),
    ],
)
def test_what_cannot_be_put_off_so_is_said(
    sign_in: SignIn, letter: Letter, fields: dict[str, str], why: str
) -> None:
    said = say(sign_in("operator"), letter, "snooze", **fields)

    assert why in said
    assert not DeadLetterGroup.objects.exists()


def test_a_list_by_queue_and_by_cause(sign_in: SignIn, letter: Letter) -> None:
    die("KeyError: 'name'")
    client = sign_in("operator")

    by_queue = look(client, f"{GROUPS}?by=queue")
    by_cause = look(client, f"{GROUPS}?by=cause")

    assert "orders 2 2 2 need attention" in by_queue
    assert "delivery attempts used up 2 2 2 need attention" in by_cause
    client.post(reverse("console:plan_resubmit"), {"queue": "orders"})
    assert Operation.objects.get().items.count() == 2


def test_all_of_a_standing_are_not_resubmitted_by_one_button(
    sign_in: SignIn, letter: Letter
) -> None:
    """It would take others, too: the plan knows no standing."""
    client = sign_in("operator")
    assert "Resubmit 1…" in look(client, f"{GROUPS}?standing=wanted")

    html = client.get(f"{GROUPS}?standing=wanted").content.decode()

    assert "button-primary" not in html
    assert "button-primary" in client.get(GROUPS).content.decode()


def test_the_page_tells_how_a_group_grows_and_what_was_done(
    sign_in: SignIn, letter: Letter
) -> None:
    said_before = look(sign_in("operator"), url(letter))

    assert "1 in the last hour, 1 in 24 hours, at most 1 an hour" in said_before
    assert "shop.handle 1 of the newest 200 at most" in said_before
    assert "none found in the newest 200 letters" in said_before


def test_only_who_may_resubmit_says_something(sign_in: SignIn, letter: Letter) -> None:
    client = sign_in("viewer")

    assert "Users with the role operator may acknowledge it" in look(
        client, url(letter)
    )
    path = reverse("console:acknowledge_group", args=[letter.fingerprint])
    assert client.post(path).status_code == 403
    assert not DeadLetterGroup.objects.exists()


def test_nobody_says_anything_of_what_they_may_not_see(
    client: Client, letter: Letter
) -> None:
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]), granted=())
    make_authority(omar, "inquire", pattern="orders")
    client.force_login(omar)
    path = reverse("console:acknowledge_group", args=[letter.fingerprint])

    assert client.post(path).status_code == 404
    assert not DeadLetterGroup.objects.exists()
    Authority.objects.all().delete()
    assert Queue.objects.exists()


def test_more_like_this_leads_from_a_message_to_its_group(
    sign_in: SignIn, letter: Letter
) -> None:
    html = (
        sign_in("viewer")
        .get(reverse("console:message", args=[letter.message_id]), follow=True)
        .content.decode()
    )
    assert f'<a href="{url(letter)}">More like this</a>' in html


def test_a_group_is_archived_as_a_whole_and_restored(
    sign_in: SignIn, letter: Letter
) -> None:
    for _ in range(2):
        die()
    other = die("KeyError: 'name'")
    client = sign_in("operator")
    assert "Archive 3…" in look(client, url(letter))

    plan = client.post(
        reverse("console:order_letters"),
        {"fingerprint": letter.fingerprint, "kind": "remove"},
        follow=True,
    )
    assert "to the discard bin: no consumer gets" in words(plan.content.decode())
    operation = Operation.objects.get()
    client.post(reverse("console:start", args=[operation.pk]), {"reason": "old"})

    assert "Archived 3 in the discard bin, the first kept until" in look(
        client, url(letter)
    )
    assert Discarded.objects.count() == 3
    listed = look(client, f"{reverse('console:discards')}?group={letter.fingerprint}")
    assert "3 shown" in listed
    asked = client.get(f"{reverse('console:restore')}?group={letter.fingerprint}")
    items = re.findall(r'name="item" value="([0-9.]+)"', asked.content.decode())
    assert len(items) == 3
    client.post(reverse("console:restore"), {"item": items})
    assert not Discarded.objects.exists()
    assert "Messages 3" in look(client, url(letter))
    assert url(other) in client.get(GROUPS).content.decode()


def test_what_would_not_be_archived_but_gone_is_said_before(
    sign_in: SignIn, letter: Letter
) -> None:
    AddressSetting.objects.create(match="DLA", discard_retention_s=0)

    plan = sign_in("operator").post(
        reverse("console:order_letters"),
        {"fingerprint": letter.fingerprint, "kind": "remove"},
        follow=True,
    )

    assert "DLQ archives nothing: 1 message would be lost." in (
        words(plan.content.decode())
    )


@pytest.mark.parametrize("group", ["zz", "0" * 11, "' OR 1=1"])
def test_a_group_that_nobody_gave_out_restores_nothing(
    sign_in: SignIn, letter: Letter, group: str
) -> None:
    client = sign_in("operator")
    asked = client.get(reverse("console:restore"), {"group": group})
    assert "You chose no message." in words(asked.content.decode())
