"""Pausing a queue until a time: what people write, on pages, over HTTP, by command."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from broker.models import Queue
from broker.sql import database_now
from console.edges.pause_end import pause_end
from tests.console.api_acts import API
from tests.console.commanding import refused, run, told
from tests.console.conftest import SignIn
from tests.make import make_queue

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 3, 28, 12, tzinfo=BERLIN)  # clocks go forward the next night


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", None),
        ("13:30", NOON + timedelta(minutes=90)),
        ("6:00", datetime(2026, 3, 29, 6, tzinfo=BERLIN)),
        ("12:00", datetime(2026, 3, 29, 12, tzinfo=BERLIN)),
        ("2026-04-01 06:00", datetime(2026, 4, 1, 6, tzinfo=BERLIN)),
        ("2026-04-01T06:00:00+05:00", datetime.fromisoformat("2026-04-01T01:00:00Z")),
        ("2 h", NOON + timedelta(hours=2)),
        ("1h30m", NOON + timedelta(minutes=90)),
        ("1 d", datetime(2026, 3, 29, 13, tzinfo=BERLIN)),
    ],
)
def test_an_end_is_a_time_of_day_a_date_or_a_length(
    text: str, end: datetime | None
) -> None:
    with timezone.override(BERLIN):
        found = pause_end(text, NOON.astimezone(ZoneInfo("UTC")))
    assert (found and found.timestamp()) == (end and end.timestamp())


@pytest.mark.parametrize(
    "text", ["soon", "25:00", "2", "2026-13-01 06:00", "999999999999 d", "-1 h"]
)
def test_what_is_no_end_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time\. Write a time of day"):
        pause_end(text, NOON)


def test_the_page_pauses_until_a_time_and_says_so(sign_in: SignIn) -> None:
    make_queue()
    operator = sign_in("operator")
    url = reverse("console:pause", args=["orders"])

    wrong = operator.post(url, {"until": "soon", "reason": "stock"})
    assert wrong.status_code == 422
    assert "is no time. Write a time of day" in wrong.content.decode()
    assert 'value="stock"' in wrong.content.decode()
    past = operator.post(url, {"until": "2020-01-01 06:00"})
    assert "that is in the past" in past.content.decode()
    assert not Queue.objects.get().paused

    page = operator.post(url, {"until": "2 h"}, follow=True).content.decode()

    until = Queue.objects.get().paused_until
    assert until is not None
    assert timedelta(minutes=119) < until - database_now() <= timedelta(hours=2)
    assert f"orders is paused until {until:%Y-%m-%d %H:%M} (in 1 h 59 min)." in page
    assert "Paused until <time" in page
    assert f"operator paused it until {until:%Y-%m-%d %H:%M} UTC" in page
    again = operator.get(url).content.decode()
    assert "It is paused already, until <time" in again
    alerts = operator.get(reverse("console:alerts")).content.decode()
    assert "until it resumes by itself." in alerts


def test_the_api_pauses_until_a_time_or_for_a_while(sign_in: SignIn) -> None:
    make_queue()
    operator = sign_in("operator")
    url = f"{API}/queues/orders/pause"

    def post(**body: object) -> dict[str, object]:
        answer = operator.post(url, body, "application/json")
        return {"status": answer.status_code, **answer.json()}

    until = (database_now() + timedelta(hours=1)).replace(microsecond=0)
    assert (
        post(until=until.isoformat())["paused_until"] == f"{until:%Y-%m-%dT%H:%M:%SZ}"
    )
    assert post(until="60 s")["paused_until"] != f"{until:%Y-%m-%dT%H:%M:%SZ}"
    assert post()["paused_until"] is None
    wrong: list[tuple[dict[str, Any], int]] = [
        ({"until": "2020-01-01T00:00:00Z"}, 400),
        ({"until": "2030-01-01T00:00:00"}, 422),  # without an offset
        ({"until": "06:00"}, 422),  # of which zone?
        ({"until": "0 s"}, 400),
    ]
    for body, status in wrong:
        assert post(**body)["status"] == status, body


@pytest.mark.django_db
def test_the_command_pauses_and_resumes() -> None:
    make_queue()

    paused = told("queue", "pause", "orders", "--until", "2h", "--reason", "stock")
    assert paused["paused_until"] is not None
    assert "orders is paused until 20" in run(
        "queue", "pause", "orders", "--until", "3h"
    )
    assert refused("queue", "pause", "orders", "--until", "soon")[0] == 2
    assert told("queue", "resume", "orders") == {
        "queue": "orders",
        "paused": False,
        "paused_until": None,
        "changed": True,
    }
    assert refused("queue", "resume", "orders")[0] == 3
