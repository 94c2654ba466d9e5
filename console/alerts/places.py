"""Where something is done about a problem: the pages that conditions name, and the
chips of their problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from broker.models import Alert
from broker.problems.conditions import table
from broker.problems.problem import Name


class Page(NamedTuple):
    """Where something is done about a problem."""

    view: str
    link: str  # label of the link
    every: str  # the view that lists all things of this kind
    takes: int = 0  # how many parts of a problem's key are in the path
    query: tuple[str, ...] = ()  # the names of the other parts in the URL's query

    def url(self, key: Sequence[str | int]) -> str:
        path = reverse(self.view, args=key[: self.takes])
        query = urlencode(dict(zip(self.query, key[self.takes :], strict=False)))
        return f"{path}?{query}" if query else path


CONSUMERS, BRIDGES, QUEUES = "console:consumers", "console:bridges", "console:queues"
LETTERS, HEALTH, UNITS = "console:dead_letters", "console:health", "console:units"
SCHEDULED, REPORTS = "console:scheduled", "dashboards:reports"
OPERATIONS, GROUP = "console:operations", "console:dead_letter_group"
PAGES = {  # the pages that conditions name
    "consumers": Page(
        CONSUMERS, gettext_noop("See why, and start delivery again"), CONSUMERS
    ),
    "link": Page("console:link", gettext_noop("See the link"), BRIDGES, 2),
    "group": Page(GROUP, gettext_noop("See the group"), LETTERS, 1, ("queue", "on")),
    "queue": Page("console:queue", gettext_noop("See the queue"), QUEUES, 1),
    "scheduled": Page(
        SCHEDULED, gettext_noop("See what is late"), SCHEDULED, 0, ("queue",)
    ),
    "unit": Page("console:unit", gettext_noop("See what it holds"), UNITS, 1),
    "operation": Page("console:operation", gettext_noop("See the plan"), OPERATIONS, 1),
    "dead_letters": Page(LETTERS, gettext_noop("See their causes"), LETTERS),
    "health": Page(HEALTH, gettext_noop("See it on Health"), HEALTH),
    "reports": Page(REPORTS, gettext_noop("See the reports"), REPORTS),
}
STATES = {  # states of chips by condition; others look like “not consumed”
    **dict.fromkeys((Name.STOPPED, Name.LINK, Name.UNIT), "stopped"),
    **dict.fromkeys((Name.GROWTH, Name.NEW_CAUSE, Name.DEAD_LETTERS), "dead"),
    **dict.fromkeys((Name.IN_DOUBT, Name.PAUSED, Name.PREPARED, Name.APPROVAL), "held"),
    Name.LATE: "redelivery",
}


def of_alert(alert: Alert) -> tuple[str, str]:
    """The page where somebody acts on what an alert is about, and the link's label."""
    row = table().get(alert.condition)
    # no row: the application of the condition is not installed
    name = row.page if row else "queue"
    page = PAGES[name]
    if key := key_of(name, alert):
        return page.url(key), gettext(page.link)
    is_list = page.view == page.every
    link = gettext(page.link) if is_list else gettext("See them all")
    return reverse(page.every), link


def key_of(page: str, alert: Alert) -> Sequence[str]:
    """The key of what an alert is about, for the URL of its page; empty if the page
    lists all."""
    if page == "link":
        bridge, _, link = alert.subject.partition("/")
        return (bridge, link) if link else ()
    if page in ("unit", "operation"):  # the subject ends with the number
        number = alert.subject.rpartition(" ")[2]
        return (number,) if number.isdecimal() else ()
    if page in ("group", "queue", "scheduled"):
        one = alert.fingerprint if page == "group" else alert.queue
        return (one,) if one else ()
    return ()
