"""What people set for themselves: the zone of times, and how close rows stand."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker.models import Credential, Queue
from broker.queueing.put import put
from console.queues import queue_list
from console.templatetags.console import moment
from console.templatetags.console_lifelines import clock
from tests.console.conftest import SignIn
from tests.make import make_queue

pytestmark = pytest.mark.django_db
AT = datetime(2026, 7, 14, 22, 30, 1, 417000, tzinfo=UTC)


def choose(client: Client, name: str, value: str) -> None:
    answer = client.post(reverse(f"console:{name}"), {name: value, "next": "/?q=x"})
    assert answer["Location"] == "/?q=x"


def html(client: Client, path: str = "/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_times_are_utc_until_one_says_otherwise(sign_in: SignIn) -> None:
    page = html(sign_in("viewer"))

    assert 'data-zone="UTC"' in page
    assert re.search(r"data-clock[^>]*>\d\d:\d\d:\d\d UTC<", page)


def test_a_chosen_zone_is_that_of_every_time(sign_in: SignIn) -> None:
    make_queue()
    message_id = put("orders", now=AT).message_id
    client = sign_in("operator")
    choose(client, "zone", "Asia/Kolkata")

    page = html(client, reverse("console:message", args=[message_id]))

    assert 'data-zone="Asia/Kolkata"' in page
    assert re.search(r"data-clock[^>]*>\d\d:\d\d:\d\d IST<", page)
    assert 'datetime="2026-07-14T22:30:01.417+00:00"' in page
    assert "2026-07-15 04:00:01.417" in page
    assert 'title="2026-07-14 22:30:01.417 UTC, 2026-07-15 04:00:01.417 IST"' in page


@pytest.mark.parametrize("tag", [moment, clock])
def test_today_is_the_day_of_whoever_looks(
    tag: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: AT)

    assert ">22:30:01.417" in tag(AT)  # type: ignore[operator]
    with timezone.override("Asia/Kolkata"):
        assert ">04:00:01.417" in tag(AT)  # type: ignore[operator]
        before = datetime(2026, 7, 14, 12, tzinfo=UTC)
        assert ">2026-07-14 17:30:00.000" in tag(before)  # type: ignore[operator]


@pytest.mark.parametrize("zone", ["Nowhere/At all", "../etc/passwd", "", "x" * 500])
def test_what_is_no_zone_changes_nothing(sign_in: SignIn, zone: str) -> None:
    client = sign_in("viewer")
    choose(client, "zone", zone)
    assert "zone" not in client.cookies

    client.cookies["zone"] = zone

    assert 'data-zone="UTC"' in html(client)


def test_one_request_s_zone_is_not_the_next_one_s(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    choose(client, "zone", "Asia/Kolkata")
    html(client)

    assert timezone.get_current_timezone_name() == "UTC"


def test_settings_and_the_api_stay_in_utc(sign_in: SignIn) -> None:
    client = sign_in("administrator")
    choose(client, "zone", "Asia/Kolkata")

    assert 'data-zone="Asia' not in html(client, "/admin/")


def test_what_one_types_is_in_the_zone_that_one_sees(sign_in: SignIn) -> None:
    client = sign_in("administrator")
    choose(client, "zone", "Asia/Kolkata")
    form = html(client, reverse("console:create_credential"))
    assert "In the time zone of the clock above." in form
    user = re.search(r'<option value="(\w+)"[^>]*>administrator', form)
    assert user

    client.post(
        reverse("console:create_credential"),
        {
            "name": "shop",
            "owner": user[1],
            "patterns": "#",
            "may_get": "on",
            "expires_at": "2099-07-15T04:00",
        },
    )

    expires_at = Credential.objects.get().expires_at
    assert expires_at == datetime(2099, 7, 14, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("chosen", "sent"), [("compact", "compact"), ("normal", ""), ("tiny", "")]
)
def test_rows_stand_as_close_as_one_likes(
    sign_in: SignIn, chosen: str, sent: str
) -> None:
    client = sign_in("viewer")
    choose(client, "density", chosen)

    assert (f'data-density="{sent}"' in html(client)) == bool(sent)
    assert ("density" in client.cookies) == (chosen != "tiny")


@pytest.mark.parametrize(
    ("chosen", "sent"), [("relative", "relative"), ("both", ""), ("tiny", "")]
)
def test_times_are_told_as_one_likes(sign_in: SignIn, chosen: str, sent: str) -> None:
    client = sign_in("viewer")
    choose(client, "times", chosen)

    assert (f'data-times="{sent}"' in html(client)) == bool(sent)
    assert ("times" in client.cookies) == (chosen != "tiny")


def test_the_list_of_queues_keeps_the_columns_that_one_chose(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("viewer")
    url = reverse("console:queues")
    every = heads(html(client, url))
    _, _, *rest = (column.label for column in queue_list.COLUMNS)
    assert every == ["Queue · State", *rest, "5 min"]

    client.post(
        reverse("console:queue_columns"), {"column": ["ready", "trend", "bogus"]}
    )

    few = html(client, url)
    assert heads(few) == ["Queue", "Ready", "5 min"]
    assert len(re.findall(r"<td\b", few.split("</table>")[0])) == 2
    assert "some are hidden" in few
    client.cookies[queue_list.COOKIE] = "bogus.<script>.name"
    assert heads(html(client, url)) == every


def heads(page: str) -> list[str]:
    """The words of the heads of the first table."""
    head, *_ = page.split("</thead>")
    found = re.findall(r'<th scope="col".*?</th>', head)
    return [re.sub(r"<.*?>", "", one) for one in found]


def test_all_of_it_is_on_one_page(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    choose(client, "zone", "Europe/Berlin")

    page = html(client, reverse("console:preferences"))

    assert '<option value="Europe/Berlin" selected>' in page
    assert 'aria-label="Rows of tables"' in page


@pytest.mark.parametrize(("chosen", "sent"), [("30 s", 30), ("1 s", 1), ("0.1 s", 1)])
def test_live_pages_change_as_often_as_one_likes(
    sign_in: SignIn, chosen: str, sent: int
) -> None:
    client = sign_in("viewer")
    choose(client, "refresh", chosen)

    assert f'data-every="{sent}"' in html(client)
    page = html(client, reverse("console:preferences"))
    assert f'value="{sent} s" aria-pressed="true"' in page
