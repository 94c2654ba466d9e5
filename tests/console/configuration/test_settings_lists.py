"""The lists of Settings look and behave as those of the console."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from broker.models import Act, QueueAlias
from tests.console.messages.test_messages import words
from tests.console.recorded import deeds
from tests.make import make_queue, make_user

QUEUES = "/admin/broker/queue/"
ALIASES = "/admin/broker/queuealias/"


def got(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def chips(page: str) -> dict[str, str]:
    """Where the filters lead, by what they say; the chosen ones have a star."""
    found = re.findall(
        r'<li( class="selected")?>\s*<a href="([^"]*)">([^<]*)</a></li>', page
    )
    return {f"{word}{'*' if one else ''}": unescape(url) for one, url, word in found}


def test_a_list_is_a_table_of_the_console_whose_cells_have_labels(ada: Client) -> None:
    make_queue("orders", address="<i>in</i>")

    page = got(ada, QUEUES)

    assert '<table id="result_list" class="grid as-cards">' in page
    assert re.search(r'<th class="field-name"><a href="[^"]*">orders</a></th>', page)
    cell = '<td data-label="address" class="field-address nowrap">'
    assert f"{cell}&lt;i&gt;in&lt;/i&gt;</td>" in page
    assert re.search(
        r'<th scope="col"[^>]* aria-sort="ascending"><a class="sort"', page
    )
    assert 'class="action-checkbox"><input type="checkbox"' in page
    assert re.search(r">20\d\d-\d\d-\d\d \d\d:\d\d:\d\d</td>", page)


def test_a_filter_is_a_row_of_chips_that_keeps_the_search(ada: Client) -> None:
    make_queue("orders.eu", paused=True)
    make_queue("orders.us")
    make_queue("bills", paused=True)

    page = got(ada, f"{QUEUES}?q=orders&paused__exact=1")

    assert "orders.eu" in words(page)
    assert "orders.us" not in words(page)
    assert "bills" not in words(page)
    assert "Yes*" in chips(page)
    assert "q=orders" in chips(page)["local"]
    assert 'value="orders" placeholder="Search queues" data-filter' in page
    assert '<input type="hidden" name="paused__exact" value="1">' in page
    assert page.index('id="changelist-filter"') < page.index('id="result_list"')


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (ALIASES, "There are no queue aliases yet."),
        (f"{ALIASES}?q=nothing", "No queue alias matches this."),
    ],
)
def test_an_empty_list_says_so(ada: Client, path: str, sentence: str) -> None:
    assert sentence in words(got(ada, path))


def test_an_action_is_a_button_that_does_it_after_a_confirmation(ada: Client) -> None:
    one, other = (QueueAlias.objects.create(name=n, target="x") for n in "ab")
    page = got(ada, ALIASES)
    assert "---------" not in page
    button = 'class="button" name="action" value="delete_selected">'
    assert f"{button}Delete selected queue aliases</button>" in page

    chosen = {"action": "delete_selected", "_selected_action": [one.pk]}
    asked = ada.post(ALIASES, chosen | {"select_across": "0"})
    assert "Are you sure" in asked.content.decode()
    ada.post(ALIASES, chosen | {"post": "yes"})

    assert list(QueueAlias.objects.all()) == [other]
    assert [record.act for record in deeds()] == [Act.DELETE]


def test_a_list_in_a_window_of_its_own_has_no_history(ada: Client) -> None:
    make_queue()

    page = got(ada, f"{QUEUES}?_popup=1")

    assert ">orders</a>" in page
    assert "History" not in page
    assert "topbar" not in page


def test_a_long_list_has_pages(ada: Client) -> None:
    for number in range(101):
        QueueAlias.objects.create(name=f"alias.{number:03}", target="x")

    first, last = (words(got(ada, f"{ALIASES}?p={number}")) for number in (1, 2))

    assert "101 queue aliases" in first
    assert "alias.100" not in first
    assert "alias.100" in last


def test_who_may_not_delete_has_no_button(db: None, client: Client) -> None:
    vera = make_user("vera", permissions=("broker.view_queuealias",))
    vera.is_staff = True
    vera.save()
    client.force_login(vera)
    QueueAlias.objects.create(name="a", target="x")

    page = got(client, ALIASES)

    assert "delete_selected" not in page
    assert "History" not in words(page)


def test_the_history_of_a_list_is_the_audit_of_its_kind(ada: Client) -> None:
    ada.post(f"{ALIASES}add/", {"name": "a", "target": "x"})
    ada.post("/admin/broker/modelqueue/add/", {"name": "MODEL", "backout_threshold": 0})
    (url,) = re.findall(r'<li><a href="([^"]*)">History</a></li>', got(ada, ALIASES))

    page = words(got(ada, unescape(url)))

    assert "queue alias a" in page
    assert "MODEL" not in page


def test_the_list_of_links_leads_to_the_page_of_a_new_one(ada: Client) -> None:
    page = got(ada, reverse("admin:broker_link_changelist"))

    assert f'href="{reverse("console:new_link")}">New link…</a>' in page
