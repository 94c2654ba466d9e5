"""What people order of links of bridges, and decide of what these left in doubt."""

from __future__ import annotations

import pytest
from django.test import Client

from broker.models import AuditRecord, Branch, LinkStatus
from tests.console.bridging import fail, make_branch, make_link, stand
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.make import make_user

pytestmark = pytest.mark.django_db

ERROR = "stomp-east: nobody answers at stomp://mq-east.example:61613."
LIST = "/bridges/"
PAGE = "/bridges/shop/out/"


def got(client: Client, path: str = LIST) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def said(client: Client, path: str = LIST) -> str:
    return words(got(client, path))


def offered(html: str) -> list[str]:
    """What can be ordered of the link of a page, of its forms and links."""
    return [
        one for one in ("start", "pause", "resume", "stop") if f"{PAGE}{one}/" in html
    ]


@pytest.mark.parametrize(
    ("state", "offers"),
    [
        ("UNINITIALIZED", ["start"]),
        ("STARTING", ["pause", "stop"]),
        ("STARTED", ["pause", "stop"]),
        ("PAUSING", ["resume", "stop"]),
        ("PAUSED", ["resume", "stop"]),
        ("STOPPING", ["start"]),
        ("STOPPED", ["start"]),
    ],
)
@pytest.mark.spec("BRIDGE-18")
def test_only_what_its_state_takes_is_offered(
    sign_in: SignIn, state: str, offers: list[str]
) -> None:
    stand(make_link(), state)
    client = sign_in("operator")

    assert offered(got(client)) == offers
    assert offered(got(client, PAGE)) == offers


def test_a_disabled_link_is_not_offered_to_be_started(sign_in: SignIn) -> None:
    stand(make_link(enabled=False), "STOPPED", error=ERROR)
    client = sign_in("operator")

    assert offered(got(client)) == []
    text = said(client, PAGE)
    assert "it cannot be started until it is enabled under Settings" in text
    assert "failed" not in text


def test_who_only_looks_is_offered_nothing(sign_in: SignIn) -> None:
    fail(make_link(), ERROR)
    client = sign_in("viewer")

    assert offered(got(client)) == []
    assert "Users with the role operator may start it." in said(client, PAGE)


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        ("start", "STOPPED", "STARTING"),
        ("pause", "STARTED", "PAUSING"),
        ("resume", "PAUSED", "STARTING"),
        ("stop", "STARTED", "STOPPING"),
    ],
)
def test_an_order_is_given_and_recorded(
    sign_in: SignIn, command: str, before: str, after: str
) -> None:
    link = make_link()
    stand(link, before)
    client = sign_in("operator")
    assert client.get(f"{PAGE}{command}/").status_code == 200
    assert not AuditRecord.objects.filter(object_kind="link").exists()

    answer = client.post(f"{PAGE}{command}/", {"reason": "night work"})

    assert answer["Location"] == PAGE
    assert LinkStatus.objects.get().state == after
    record = AuditRecord.objects.get(object_kind="link")
    assert (record.act, record.reason) == (f"link.{command}", "night work")
    assert record.object_name == "shop/out"


def test_a_failed_link_that_is_started_again_is_wrong_no_more(
    sign_in: SignIn,
) -> None:
    fail(make_link(), ERROR)
    client = sign_in("operator")

    client.post(f"{PAGE}start/")

    text = said(client)
    assert "1 starting" in text
    assert ERROR not in text


def test_an_order_from_the_list_leads_back_to_it(sign_in: SignIn) -> None:
    stand(make_link(), "STOPPED")

    answer = sign_in("operator").post(f"{PAGE}start/", {"back": "list"}, follow=True)

    assert answer.redirect_chain == [(LIST, 302)]
    assert "The link shop/out is ordered to start." in words(answer.content.decode())


@pytest.mark.parametrize(
    ("command", "state", "told"),
    [
        ("pause", "STOPPED", "cannot pause: it is stopped. Start it first."),
        ("start", "STARTED", "is in that state already; nothing was done."),
    ],
)
def test_what_was_ordered_too_late_is_said(
    sign_in: SignIn, command: str, state: str, told: str
) -> None:
    stand(make_link(), state)

    answer = sign_in("operator").post(f"{PAGE}{command}/", follow=True)

    assert told in words(answer.content.decode())
    refused = AuditRecord.objects.filter(object_name="shop/out", outcome="refused")
    assert refused.exists() == told.startswith("cannot")
    assert not AuditRecord.objects.filter(object_kind="link", outcome="done").exists()


def test_what_was_ordered_is_told_to_those_who_may_read_the_audit(
    sign_in: SignIn,
) -> None:
    stand(make_link(), "STOPPED")
    client = sign_in("administrator")
    client.post(f"{PAGE}start/", {"reason": "it is mended"})

    assert "Started a link by administrator" in said(client, PAGE)
    client.force_login(make_user("vera", permissions=("broker.view_link",)))
    assert "it is mended" not in said(client, PAGE)


def test_a_branch_in_doubt_is_decided_by_administrators(sign_in: SignIn) -> None:
    make_branch(make_link(), "bk:7/1", kind=Branch.Kind.PREPARED, messages=3)
    ada, path = sign_in("administrator"), f"{PAGE}branches/bk~3A7~2F1/commit/"
    text = said(ada, PAGE)
    assert "bk:7/1 3" in text
    assert "Prepared here; the marker at the other provider decides." in text
    assert path in got(ada, PAGE)
    assert "3 messages: prepared here" in said(ada, path)

    answer = ada.post(path, {"reason": " "})

    assert answer.status_code == 422
    assert "Say why." in answer.content.decode()
    assert ada.get(f"{PAGE}branches/another/commit/").status_code == 404


def test_only_administrators_are_offered_to_decide(sign_in: SignIn) -> None:
    make_branch(make_link())
    client = sign_in("operator")

    assert "commit/" not in got(client, PAGE)
    assert "Users with the role administrator may decide." in said(client, PAGE)
    assert client.get(f"{PAGE}branches/bk~3A7~3A1/commit/").status_code == 403


def test_to_order_takes_the_authority_to_set_its_queues(client: Client) -> None:
    stand(make_link(), "STARTED")
    permissions = ("broker.view_link", "broker.operate_link")
    vera = make_user("vera", permissions=permissions, granted=("inquire",))
    client.force_login(vera)

    answer = client.post(f"{PAGE}stop/")

    assert answer.status_code == 403
    assert LinkStatus.objects.get().state == "STARTED"
