"""How long the server takes for each page, and for each list of the API.

Asked in this process, from the first middleware to the last byte of the answer; what a
browser and the network add is not in it. Pages are asked for in turn, again and again,
so that what the console keeps for a second has gone by the time a page comes again.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from string import Formatter
from urllib.parse import quote, unquote_plus

from django.contrib.auth.models import User
from django.test import Client, override_settings

from broker.models import ClientConnection, Message, Operation
from broker.monitoring import dead_letters
from console import api
from console.runtime import preloading
from dashboards.models import ReportRun
from tests.bench import ground, machine, many, report
from tests.bench.aligned import aligned
from tests.bench.figures import percentile
from tests.bench.many import DEEP, Many
from tests.console.filled import Paths, fill, omar
from tests.console.refused import PLAIN

MOST_MS = 150  # that the 99th percentile may be
ROUNDS = 12
NO_LISTS = {
    "/api/v1/messages/export",
    "/api/v1/operations/{operation_id}/patch",
    "/api/v1/views/{slug}",
}
HEAD = ("page", "times", "p50 ms", "target", "p99 ms", "")
TITLE = "Pages"
PROSE = """\
Written by `make bench ARGS="--pages --write"`. There are {messages:,} messages, of
which {letters:,} are dead for one of {causes} causes; {queues:,} queues, {operations:,}
operations and one on all dead letters, {records:,} records of the audit; besides, what
the tests of pages put on each. Milliseconds from the first middleware to the last byte
of the answer, the slowest first; each page in turn, so that nothing is kept from the
time before. A path is one where much is asked for; a name stands for all pages of its
kind, in all their states.

```
{table}
```

{machine}"""


def measure(say: Callable[[str], None], *, write: bool = False, size: Many) -> None:
    """Print the table; on request, write it."""
    say("Making a database")
    with ground.own_database():
        described = machine.describe()
        user = omar()
        lines = fill(user)  # before there is so much that all of it is much
        many.make(size, user, say)
        lines |= paths()
        say(f"{sum(map(len, lines.values()))} paths, {ROUNDS} times")
        text = aligned([HEAD, *table(took(user, lines))])
    print("", *described, "", text, sep="\n")
    if write:
        said = PROSE.format(
            table=text,
            machine="\n".join(f"- {line}" for line in described),
            causes=len(many.CAUSES),
            **vars(size),
        )
        report.write_part(TITLE, said)


def paths() -> Paths:
    """Where the server is asked for much, by what the table calls it."""
    found = {unquote_plus(path): [path] for path in large()}
    return found | {f"API {path}": [path] for path in lists_of_the_api()}


def large() -> list[str]:
    """Pages about much; of those that go on, also one that is deep."""
    largest = dead_letters.groups()[0].fingerprint
    everything = Operation.objects.latest("pk").pk
    deep = Message.objects.filter(address=DEEP).order_by("pk")
    middle = deep[deep.count() // 2].pk
    filters = (
        *("", "state:dead", f"queue:{DEEP}", "queue:many.*", "queue:many.0042"),
        *("h.tenant:t7", "h.number:77777", "body:99999", "type:order.3", "error:row"),
        *("type:order.3 h.tenant:t7", "age:<1h", f"fingerprint:{largest}", "tries:>0"),
        *("state:dead origin:once", "content:text/*"),
    )
    asked = ["&".join(f"f={quote(term)}" for term in one.split()) for one in filters]
    return [
        *(f"/messages/?{one}" for one in asked),
        *(f"/messages/order/?which=all&{one}" for one in asked[1:3]),
        f"/queues/{DEEP}/",
        f"/queues/{DEEP}/?after=4.{middle}",
        "/queues/graveyard/",
        f"/queues/{DEEP}/order/?which=all",
        f"/dead/{largest}/",
        f"/dead/{largest}/?after={middle}",
        f"/dead/order/?fingerprint={largest}",
        f"/operations/{everything}/",
        "/audit/?actor=omar",
        f"/api/v1/queues/{DEEP}/messages",
        "/api/v1/messages?f=state:dead",
        "/queues/?q=many.00",
    ]


def lists_of_the_api() -> list[str]:
    known = {
        "name": "DLQ",  # which has rules
        "address": DEEP,
        "match": "orders",
        "message_id": Message.objects.latest("pk").pk,
        "operation_id": Operation.objects.latest("pk").pk,
        "connection_id": ClientConnection.objects.latest("pk").pk,
        "fingerprint": dead_letters.groups()[0].fingerprint,
        "slug": "dead-letters",
        "run_id": ReportRun.objects.filter(report="dead-letters").latest("pk").pk,
    }
    described = api.api.get_openapi_schema()["paths"]
    return [
        path.format_map(known)
        for path, methods in described.items()
        if "get" in methods and path not in NO_LISTS and named(path) <= known.keys()
    ]


def named(path: str) -> set[str]:
    """What a path asks for. Of some, such as an alias, there is none here: their paths
    are of one definition, and no list."""
    return {name for _, name, _, _ in Formatter().parse(path) if name}


@override_settings(STORAGES={"staticfiles": PLAIN}, ALLOWED_HOSTS=["testserver"])
def took(user: User, lines: Paths) -> dict[str, list[float]]:
    """Milliseconds of each answer, by what the table calls it."""
    client = Client()
    client.force_login(user)
    every = [(name, path) for name, paths in lines.items() for path in paths]
    times: dict[str, list[float]] = {name: [] for name in lines}
    preloading.load()  # as the process of `manage.py run` from which servers are forked
    gc.collect()
    gc.freeze()
    for number in range(ROUNDS + 1):
        for name, path in random.sample(every, len(every)):
            began = time.perf_counter()
            answer = client.get(path, follow=True)  # a copy leads to its original
            spent_ms = (time.perf_counter() - began) * 1000
            assert answer.status_code == 200, f"{path}: {answer.status_code}"
            if number:  # the first round warms up
                times[name].append(spent_ms)
    return times


def table(times: dict[str, list[float]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, each in sorted(times.items(), key=lambda one: -percentile(one[1], 99)):
        p99 = percentile(each, 99)
        verdict = "reached" if p99 <= MOST_MS else "missed"
        half = f"{percentile(each, 50):,.1f}"
        rows.append(
            (name, f"{len(each)}", half, f"≤ {MOST_MS}", f"{p99:,.1f}", verdict)
        )
    return rows
