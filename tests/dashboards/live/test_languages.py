"""Live numbers are in the language of the page that shows them."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connections
from django.utils.translation import gettext, override

from broker.models import Queue
from console.templatetags.console import WORDS
from dashboards.live import publisher
from tests.dashboards.live.sockets import page_of
from tests.make import make_user

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def _threads_keep_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """One would be left of each socket's thread, and hold the test database."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)


@pytest.fixture
def vera() -> User:
    return make_user("vera", permissions=("broker.view_queue",))


@pytest.mark.usefixtures("redis")
async def test_numbers_come_in_the_language_of_the_page(
    vera: User, orders: Queue
) -> None:
    """Those that are published are English, and are rendered anew for other pages."""
    await Queue.objects.filter(pk=orders.pk).aupdate(paused=True)
    english = WORDS["held"]
    with override("de"):
        german = gettext(english)
    assert german != english

    async with page_of(vera) as one, page_of(vera, cookies="; language=de") as other:
        for page, words in ((one, english), (other, german)):
            await page.opens()
            await page.html()
            await page.says(str(orders.pk))
            assert words in await page.html()

        await sync_to_async(publisher.publish)()

        for page, words in ((one, english), (other, german)):
            assert words in await page.html()
