"""The charts of a page: what its queues or its link did over time.

The range is in the URL: ``range=24h`` ends now, ``from=`` and ``to=`` are fixed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone

from broker.models import ConnectionConsumer, Link, Queue
from broker.monitoring.dead_letter_queues import takes_dead_letters
from broker.monitoring.history import reading
from broker.monitoring.history.packing import of_link
from broker.security import authorities
from console.edges.time_range import RANGES, NoRange, Range
from console.layout import search_links
from console.queues import marks
from dashboards.pages import history_charts
from dashboards.pages.charts import Drawing

IN_URL = ("range", "from", "to")


@dataclass(frozen=True)
class OverTime:
    """The charts of some queues, or of a link."""

    ids: Collection[int]
    subject: dict[str, str]  # parameters of the URL that returns only the charts
    said: QueryDict  # the query of the page
    user: authorities.Principal
    now: datetime
    every_panel: Sequence[history_charts.Panel] = history_charts.OF_QUEUES
    queue: Queue | None = None

    @cached_property
    def fault(self) -> str:
        try:
            Range.of_url(self.said, self.now)
        except NoRange as error:
            return str(error)
        return ""

    @cached_property
    def range(self) -> Range:
        return Range.of_url(QueryDict() if self.fault else self.said, self.now)

    @cached_property
    def history(self) -> reading.History:
        return reading.read(self.ids, self.range.begin, self.range.end, now=self.now)

    @cached_property
    def panels(self) -> list[history_charts.Panel]:
        return history_charts.visible_panels(self.history, self.every_panel)

    @cached_property
    def drawings(self) -> list[Drawing]:
        notes = [(one.at, one.words) for one in self.marks]
        return history_charts.drawings(self.history, self.panels, notes)

    @cached_property
    def rows(self) -> list[history_charts.HistoryRow]:
        return history_charts.rows(self.history, self.panels)

    @property
    def is_known(self) -> bool:
        return any(self.history.points)

    @property
    def columns(self) -> list[str]:
        return [line.name for panel in self.panels for line in panel.lines]

    @property
    def ranges(self) -> list[tuple[str, str]]:
        """Names of ranges, with the query of each on the same page."""
        return [(name, self.query(range=name)) for name in RANGES]

    @property
    def query_without_range(self) -> str:
        """The query of the page without the range."""
        return self.query()

    def query(self, **more: str) -> str:
        kept = [
            (key, value)
            for key, values in self.said.lists()
            for value in values
            if key not in IN_URL
        ]
        return urlencode([*kept, *more.items()])

    @property
    def alone(self) -> str:
        """The URL of the charts alone; empty if they never change."""
        if not self.range.name:
            return ""
        query = urlencode({**self.subject, "range": self.range.name})
        return f"{reverse('console:history')}?{query}"

    @property
    def messages(self) -> str:
        """The URL of the messages on the queue; a term on time is added to it."""
        name = self.queue.name if self.queue else ""
        url = search_links.url_of(search_links.filter_of(("queue", name)))
        return url if "?" in url else f"{url}?"

    @cached_property
    def marks(self) -> list[marks.Mark]:
        return marks.between(
            self.user, self.range.begin, self.range.end, queue=self.queue
        )


def query_of_page(request: HttpRequest) -> QueryDict:
    """The query of the page; htmx sends its URL when it asks for the charts alone."""
    page = request.headers.get("HX-Current-URL", "")
    if not page:
        return request.GET
    said = QueryDict(urlsplit(page).query, mutable=True)
    for key in IN_URL:
        said.pop(key, None)
        if key in request.GET:
            said[key] = request.GET[key]
    return said


def of_queue(request: HttpRequest, queue: Queue) -> OverTime:
    """The charts of a queue that the user may inquire."""
    return made(request, [queue.pk], {"queue": queue.name}, queue=queue)


def ids_of_every_queue(user: authorities.Principal) -> frozenset[int]:
    """All queues that the user may inquire, without queues of dead letters, whose
    messages are not work that waits."""
    held = authorities.held_by(user)
    every = Queue.objects.exclude(takes_dead_letters()).values_list("pk", "name")
    return frozenset(pk for pk, name in every if held.on("inquire", name))


def ids_of_consumers(user: authorities.Principal) -> frozenset[int]:
    """All queues with ConnectionConsumers that the user may inquire."""
    held = authorities.held_by(user)
    fed = ConnectionConsumer.objects.values_list("queue_id", "queue__name")
    return frozenset(pk for pk, name in fed if held.on("inquire", name))


def ids_of_link(link: Link) -> list[int]:
    return [of_link(link.pk)]


def of_every_queue(
    request: HttpRequest, ids: Collection[int] | None = None
) -> OverTime:
    """The charts of all queues that the user may inquire, together.

    Args:
        request: the request.
        ids: the result of ``ids_of_every_queue``, if the caller knows it.
    """
    if ids is None:
        ids = ids_of_every_queue(request.user)
    return made(request, ids, {})


def of_consumers(request: HttpRequest) -> OverTime:
    """The charts of the queues with ConnectionConsumers, together."""
    return made(request, ids_of_consumers(request.user), {"of": "consumers"})


def of_a_link(request: HttpRequest, link: Link) -> OverTime:
    """The charts of a link that the user may see."""
    subject = {"bridge": link.bridge.name, "link": link.name}
    ids = ids_of_link(link)
    return made(request, ids, subject, panels=history_charts.OF_LINKS)


def made(
    request: HttpRequest,
    ids: Collection[int],
    subject: dict[str, str],
    *,
    panels: Sequence[history_charts.Panel] = history_charts.OF_QUEUES,
    queue: Queue | None = None,
) -> OverTime:
    said = query_of_page(request)
    now = timezone.now()
    return OverTime(ids, subject, said, request.user, now, panels, queue)
