"""What pages show beside the depths: told to all of them, asked for once a second."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connections

from broker.security import authorities
from dashboards.live import consumers, topics
from tests.dashboards.live.sockets import page_of
from tests.dashboards.live.test_consumers import CLOSED
from tests.make import make_user

pytestmark = pytest.mark.usefixtures("transactional_db")
SECRET = 13  # which nobody may see


class Counted:
    """Numbers that are others whenever they are asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def look(self, number: int) -> str:
        self.asked += 1
        return f"<data>{number}, asked {self.asked}</data>"


def may_see(user: authorities.Principal, number: int) -> bool:
    return number != SECRET


@pytest.fixture(autouse=True)
def _threads_keep_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """A topic whose seconds are short."""
    monkeypatch.setattr(topics, "EVERY_S", 0.2)
    monkeypatch.setattr(topics, "KEPT_S", 0)
    counted = Counted()
    topic = topics.Topic("thing", may_see, counted.look)
    monkeypatch.setitem(topics.TOPICS, "thing", topic)
    yield counted
    assert not topic.tasks, "nobody looks any more"


@pytest.fixture
def vera() -> User:
    return make_user("vera", permissions=("broker.view_queue",))


@pytest.mark.usefixtures("redis")
async def test_all_pages_are_told_the_same_of_one_look(
    vera: User, counted: Counted
) -> None:
    """Whoever comes later is told at once what was told last, and asks nothing."""
    async with (
        page_of(vera, query=b"thing=7") as one,
        page_of(vera, query=b"thing=7") as other,
    ):
        for page in (one, other):
            await page.opens()
            await page.html()  # the depths
        seen = [[await page.html() for _ in range(3)] for page in (one, other)]

    first = int(re.findall(r"\d+", seen[1][0])[1])
    assert seen[0] == [f"<data>7, asked {n}</data>" for n in (1, 2, 3)]
    assert seen[1] == [f"<data>7, asked {first + n}</data>" for n in range(3)]


async def test_a_page_that_is_gone_keeps_nothing_from_the_others(
    counted: Counted,
) -> None:
    topic, told = topics.TOPICS["thing"], asyncio.Queue[str]()

    class Gone:
        async def tell(self, html: str) -> None:
            raise RuntimeError("the socket is closed")

    class Open:
        async def tell(self, html: str) -> None:
            await told.put(html)

    pages = (Gone(), Open())
    for page in pages:
        await topic.join(7, page.tell)
    seen = [await asyncio.wait_for(told.get(), 5) for _ in range(3)]
    for page in pages:
        topic.leave(7, page.tell)

    assert seen == [f"<data>7, asked {n}</data>" for n in (1, 2, 3)]


@pytest.mark.usefixtures("redis")
async def test_what_one_may_not_see_is_not_told(vera: User, counted: Counted) -> None:
    async with page_of(vera, query=b"thing=%d" % SECRET) as page:
        await page.opens()

        assert await page.next() == CLOSED
    assert counted.asked == 0


@pytest.mark.usefixtures("redis")
async def test_who_may_see_it_no_longer_is_told_nothing_more(
    vera: User, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "LOOK_AGAIN_S", 0)
    async with page_of(vera, query=b"thing=7") as page:
        await page.opens()
        await page.html()
        await page.html()

        await sync_to_async(vera.user_permissions.clear)()
        while (said := await page.next())["type"] == "websocket.send":
            pass

    assert said == CLOSED


@pytest.mark.parametrize(
    "query", ["", "thing", "thing=", "thing=x", "thing=-1", "thing=9" * 99, "other=1"]
)
def test_what_is_no_topic_is_none(counted: Counted, query: str) -> None:
    assert topics.topic_of(query) is None


def test_within_a_second_it_is_asked_for_once(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "KEPT_S", 60)
    topic = topics.TOPICS["thing"]

    assert topic.html(7) == topic.html(7) == "<data>7, asked 1</data>"
    assert topic.html(8) == "<data>8, asked 2</data>"
