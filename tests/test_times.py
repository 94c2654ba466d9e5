"""Times at the borders: each is read by the rule that docs/times.md gives it.

The rule holds wherever the server is: west of Greenwich, there, and east of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.utils.time import maybe_iso8601, maybe_make_aware
from django.core.management.base import CommandError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.test import RequestFactory, override_settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from kombu.utils import json as kombu_json
from pydantic import TypeAdapter, ValidationError, create_model

from broker.acts.declaring import fields_of
from broker.bridges.transformers import checking
from broker.client import NewMessage, put
from broker.client.celery_transport import messages as celery_messages
from broker.client.django_tasks import messages as task_messages
from broker.client.django_tasks.framework import InvalidTask
from broker.errors import InvalidMessage
from broker.errors.groups import InvalidSnooze
from broker.formats import moments, property_values
from broker.formats.filters import value_parsing
from broker.formats.filters.value_parsing import Piece, Written
from broker.models import Delayed
from broker.queueing import message_files
from broker.transactions import prepared_parts
from console.accounts.time_zones import COOKIE, ZoneMiddleware
from console.audit.queries import AuditFilterForm
from console.edges.commands import options
from console.edges.pause_end import pause_end
from console.edges.rest.acts import Instant, member_of
from console.edges.time_range import NoRange, Range, moment
from console.queues import history_points
from tests.broker.client.sample_tasks import add
from tests.installed import TREE
from tests.make import make_queue
from tests.test_shape import APPS, modules

ZONES = ("America/New_York", "UTC", "Asia/Kolkata")
PAGE = "Europe/Berlin"  # the zone that the person has chosen
AT = datetime(2026, 5, 14, 2)  # noqa: DTZ001  # which time it is, is the question
TEXT = AT.isoformat()
NOW = datetime(2026, 5, 15, tzinfo=UTC)
MESSAGE = NewMessage("orders", deliver_at=AT)
PAGE_OF_DOCS = (TREE / "docs" / "times.md").read_text()
RULES = dict(re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", PAGE_OF_DOCS, re.M)[1:])
REFUSALS = (
    *(CommandError, InvalidMessage, InvalidTask, ValidationError),
    ValueError,
)


def eta() -> datetime | None:
    return celery_messages.moment(TEXT)


def expires() -> datetime:
    """Celery sends a length of time, from its own now."""
    app = Celery(broker="memory://", set_as_current=False)
    with app.connection_for_write() as line:
        producer = app.amqp.Producer(line)
        sent: dict[str, Any] = {}
        producer.publish = lambda *_, **how: sent.update(how)
        later = timezone.now().astimezone(UTC) + timedelta(hours=9)
        app.send_task("t", expires=later.replace(tzinfo=None), producer=producer)
    left = timedelta(seconds=sent["expiration"]) - timedelta(hours=9)
    wrong = timedelta(minutes=round(left / timedelta(minutes=1)))
    return AT.replace(tzinfo=UTC) + wrong


def run_after(*, use_tz: bool) -> datetime:
    tasks = {"default": {"BACKEND": "broker.client.django_tasks.BackoutBackend"}}
    with override_settings(USE_TZ=use_tz, TASKS=tasks):
        due = task_messages.fields_of(add.using(run_after=AT), [1], {})["deliver_at"]
    assert isinstance(due, datetime)
    return due


def of_put() -> datetime:
    make_queue("orders")
    put("orders", deliver_at=AT)
    return Delayed.objects.get().due_at


def prepared() -> Any:
    return prepared_parts.fields_of(MESSAGE)["deliver_at"]


def transformed() -> Any:
    original = replace(MESSAGE, deliver_at=None)
    return checking.sendable(MESSAGE, original).deliver_at


def imported() -> datetime | None:
    said = {"format": message_files.FORMAT, "address": "a", "text": ""}
    line = json.dumps({**said, "deliver_at": TEXT})
    return message_files.read(line, where="line 1").deliver_at


def snoozed() -> datetime:
    until: datetime = TypeAdapter(Instant).validate_python(TEXT)
    return until


def windowed() -> datetime | None:
    begin = fields_of(history_points.Window)[1]
    parameters = create_model("Window", begin=member_of(begin))
    found = parameters.model_validate({"from": TEXT})
    return found.model_dump()["begin"]  # type: ignore[no-any-return]


def paused() -> datetime | None:
    return pause_end(TEXT, NOW)


def on_page(call: Callable[[], datetime | None]) -> Callable[[], datetime | None]:
    """In a request for a page of somebody who has chosen a zone."""
    return lambda: requested("/messages/", call)


def requested(path: str, call: Callable[[], datetime | None]) -> datetime | None:
    found: list[datetime | None] = []

    def view(_: HttpRequest) -> HttpResponse:
        found.append(call())
        return HttpResponse()

    request = RequestFactory().get(path)
    request.COOKIES[COOKIE] = PAGE
    ZoneMiddleware(view)(request)
    return found[0]


def audited() -> datetime | None:
    form = AuditFilterForm({"since": TEXT})
    assert form.is_valid(), form.errors
    return form.criteria.since


def of_url() -> datetime:
    return Range.of_url(QueryDict(f"from={TEXT}"), NOW).begin


def filtered() -> datetime:
    return value_parsing.moment(Written((Piece(TEXT, is_quoted=False),), 0)).start


def header() -> datetime:
    return datetime.fromisoformat(property_values.json_value(AT))


BORDERS: dict[str, list[Callable[[], datetime | None]]] = {
    "Celery: `eta`": [eta],
    "Celery: `expires`": [expires],
    "Django's tasks: `run_after` with `USE_TZ = True`": [
        lambda: run_after(use_tz=True)
    ],
    "Django's tasks: `run_after` with `USE_TZ = False`": [
        lambda: run_after(use_tz=False)
    ],
    "`put`, `NewMessage`: `deliver_at`, `expires_at`": [of_put],
    "a session that prepares": [prepared],
    "what a [transformer](transformers.md) returns": [transformed],
    "files of messages": [imported],
    "REST, bodies and queries": [snoozed, windowed],
    "command line: `--until`, `--from`, `--to`, `--since`": [
        paused,
        lambda: options.moment(TEXT, "--from"),
    ],
    "pages: what is typed": [on_page(paused), on_page(audited)],
    "pages: `from` and `to` in the URL of charts": [of_url, on_page(of_url)],
    "Settings (the admin)": [lambda: requested("/admin/broker/", audited)],
    "[filters](filters.md): `put:`, `expires:`": [filtered, on_page(filtered)],
    "headers of RabbitMQ, and of kombu's other transports": [header],
}


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> Iterator[tzinfo]:
    """That of the server, and of the project."""
    with override_settings(TIME_ZONE=request.param):
        yield ZoneInfo(request.param)


def test_the_page_has_a_rule_for_each_border() -> None:
    assert set(RULES) == set(BORDERS)


@pytest.mark.parametrize("border", BORDERS)
def test_a_time_without_a_zone_is_what_the_other_side_means(
    border: str, zone: tzinfo, db: None
) -> None:
    meant = {"UTC": UTC, "`TIME_ZONE`": zone, "the page's zone": ZoneInfo(PAGE)}
    for read in BORDERS[border]:
        if RULES[border] == "refused":
            with pytest.raises(REFUSALS, match=r"zone|aware|offset"):
                read()
        else:
            assert read() == AT.replace(tzinfo=meant[RULES[border]])


@given(
    eta=st.datetimes(
        datetime(1990, 1, 1),  # noqa: DTZ001
        datetime(2090, 1, 1),  # noqa: DTZ001
        timezones=st.one_of(st.none(), st.timezones()),
    ),
    settings=st.fixed_dictionaries(
        {
            "enable_utc": st.booleans(),
            "timezone": st.sampled_from([None, *ZONES]),
        }
    ),
)
def test_an_eta_is_due_when_a_worker_of_celery_would_begin_it(
    eta: datetime, settings: dict[str, Any]
) -> None:
    """As ``celery.worker.request.Request`` computes it."""
    app = Celery(set_as_current=False)
    app.conf.update(settings)
    text = eta.isoformat()
    due = maybe_make_aware(maybe_iso8601(text), app.conf.timezone)
    assert celery_messages.moment(text) == due


def test_a_header_that_kombu_kept_as_json_keeps_its_offset() -> None:
    """``kombu.utils.json`` makes datetimes of them, with their offset."""
    sent = datetime(2026, 5, 14, 10, tzinfo=ZoneInfo("Asia/Kolkata"))
    (kept,) = kombu_json.loads(kombu_json.dumps([sent]))
    assert property_values.json_value(kept) == "2026-05-14T10:00:00+05:30"


BERLIN = ZoneInfo("Europe/Berlin")
SKIPPED = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001
TWICE = datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001


def test_a_time_that_clocks_skip_or_show_twice_is_refused_with_what_to_write() -> None:
    with pytest.raises(moments.NoSuchTime, match="skip 2026-03-29 02:30:00"):
        moments.typed(SKIPPED, BERLIN)
    both = r"twice\. Write 2026-10-25T02:30:00\+02:00 or 2026-10-25T02:30:00\+01:00"
    with pytest.raises(moments.NoSuchTime, match=both):
        moments.typed(TWICE, BERLIN)
    with timezone.override(BERLIN):
        with pytest.raises(ValueError, match="skip"):
            pause_end("2026-03-29 02:30", NOW)
        with pytest.raises(NoRange, match="twice"):
            moment("2026-10-25 02:30", "from", None)


@pytest.mark.parametrize(
    ("now", "end"),
    [
        ("2026-10-25T00:20Z", "2026-10-25T00:30+00:00"),  # 02:20 the first time
        ("2026-10-25T00:45Z", "2026-10-25T01:30+00:00"),  # 02:45 the first time
        ("2026-10-25T01:45Z", "2026-10-26T01:30+00:00"),  # 02:45 the second time
        ("2026-03-29T00:45Z", "2026-03-30T00:30+00:00"),  # before the clocks skip it
    ],
)
def test_a_pause_until_a_time_of_day_ends_when_clocks_show_it_next(
    now: str, end: str
) -> None:
    with timezone.override(BERLIN):
        assert pause_end("02:30", moments.parse(now)) == moments.parse(end)


@given(
    at=st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)),  # noqa: DTZ001
    zone=st.timezones(),
)
def test_clocks_show_each_time_when_it_is_and_no_other(
    at: datetime, zone: tzinfo
) -> None:
    now = at.replace(tzinfo=UTC)
    local = now.astimezone(zone).replace(tzinfo=None, fold=0)
    found = [one.astimezone(UTC) for one in moments.instants_of(local, zone)]
    assert now in found
    assert {one.astimezone(zone).replace(tzinfo=None) for one in found} == {local}


def test_a_sentence_that_says_utc_means_it() -> None:
    """Whatever offset the time has that a client sent."""
    until = moments.parse("2020-01-01T00:00+05:00")
    assert str(InvalidSnooze(until, 30)).startswith("2019-12-31 19:00 UTC")
    assert moments.in_utc(until, moments.MINUTE) == "2019-12-31 19:00 UTC"


def test_a_task_that_may_not_run_yet_tells_its_time_as_the_project_writes_times() -> (
    None
):
    with override_settings(USE_TZ=False, TIME_ZONE="Asia/Kolkata"):
        assert task_messages.run_after("2026-05-13T20:30:00+00:00") == AT


NAIVE = re.compile(
    r"make_aware\(|is_naive\(|is_aware\(|strptime\(|utcnow\(|parse_datetime\(|"
    r"\bdatetime\.fromisoformat|(?<!m[ia][nx])\.replace\(tzinfo=(?!None)"
)
SAYS_UTC = re.compile(r"%[HMSRTF]\} UTC")
PLACES = {  # which may, and why
    "broker/errors/discards.py": "may not import formats",
    "broker/errors/groups.py": "may not import formats",
    "broker/errors/operations.py": "may not import formats",
    "broker/errors/queues.py": "may not import formats",
    "broker/formats/moments.py": "it is the place",
    "console/edges/times.py": "reads what people write, for moments.typed",
}


@pytest.mark.parametrize("forbidden", [NAIVE, SAYS_UTC])
def test_one_place_decides_which_time_is_meant(forbidden: re.Pattern[str]) -> None:
    found = {
        f"{name}:{number}"
        for path in modules()
        if (name := str(path.relative_to(TREE))).startswith(APPS)
        and "/migrations/" not in name
        and name not in PLACES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if forbidden.search(line)
    }
    assert found == set()
