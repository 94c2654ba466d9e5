"""Where a page tells a number twice, it tells the same number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.console.filled import Paths, fill, omar
from tests.console.reports.filled_reports import running

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.usefixtures("transactional_db"),
]
OF_QUEUE = re.compile(r'data-slot="q\d+-(\w+)" value="(\d+)"')
TOTAL = re.compile(r'data-slot="(ready|claimed|delayed|dead)"[^>]* value="(\d+)"')
HEADING = re.compile(r"<h1>[^<\d]*([\d,]+) message")
LANE = re.compile(r'<tr data-row data-lane="(\w+)">(.*?)</tr>', re.S)
CELL = re.compile(r'data-label="([^"]+)">.*?([\d,]+)<', re.S)
SENTENCES = {  # numbers of an operation in its sentence, and the lanes' column
    "processed": r"([\d,]+) processed",
    "dead-lettered again": r"([\d,]+) dead-lettered again",
    "skipped": r"([\d,]+) skipped",
}


@pytest.fixture
def paths() -> Iterator[Paths]:
    found = fill(omar())
    with running():
        yield found


@pytest.fixture
def operator(paths: Paths, client: Client) -> Client:
    """Signed in when the console is full."""
    client.force_login(User.objects.get(username="omar"))
    return client


def text(operator: Client, path: str) -> str:
    return operator.get(path, follow=True).content.decode()


def test_the_page_of_an_operation_tells_one_number_for_one_thing(
    paths: Paths, operator: Client
) -> None:
    """The numbers of an operation: in its heading, its stages, its sentence, and the
    table of its parts."""
    pages = {one: text(operator, one) for several in paths.values() for one in several}
    assert any(LANE.search(html) for html in pages.values())
    wrong = []
    for path, html in pages.items():
        if heading := HEADING.search(html):
            wrong += [f"{path} {one}" for one in of_operation(html, heading[1])]
    assert wrong == []


def test_the_totals_of_queues_are_the_sums_of_their_rows(operator: Client) -> None:
    html = text(operator, "/queues/")
    sums: Counter[str] = Counter()
    for name, value in OF_QUEUE.findall(html):
        sums[name] += int(value)
    totals = {name: int(value) for name, value in TOTAL.findall(html)}

    assert sums["ready"] > 0
    for name in ("ready", "claimed", "delayed", "dead"):
        assert totals[name] == sums[name]


def of_operation(html: str, total: str) -> Iterator[str]:
    selected = re.search(r"Selected <span[^>]*>([\d,]+)<", html)
    if selected and selected[1] != total:
        yield f"{total} in the heading, {selected[1]} selected"
    lanes = [dict(CELL.findall(cells)) for _, cells in LANE.findall(html)]
    if not lanes:
        return
    if (sent := column(lanes, "messages")) != number(total):
        yield f"{total} in the heading, {sent} in the parts"
    sentence = html[html.index('class="strong result parts"') :]
    sentence = sentence[: sentence.index("</p>")]
    for name, pattern in SENTENCES.items():
        found = re.search(pattern, re.sub(r"<[^>]*>", "", sentence))
        if (said := number(found[1]) if found else 0) != column(lanes, name):
            yield f"{said} {name} in the sentence, {column(lanes, name)} in the parts"


def column(lanes: list[dict[str, str]], name: str) -> int:
    return sum(number(one[name]) for one in lanes)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_badges_headlines_and_lists_count_alike(paths: Paths, operator: Client) -> None:
    overview, alerts = text(operator, "/"), text(operator, "/alerts/")
    badge = re.search(r">([\d,]+)<span[^>]*> needs? attention<", overview)
    headlines = [
        re.search(r"([\d,]+) problems? needs? attention now", html)
        for html in (overview, alerts)
    ]
    assert badge
    assert [one[1] for one in headlines if one] == [badge[1]] * 2
