"""What lies on queues that somebody may not see answers as what is not there at all.

Vera has every permission, and every authority on one queue. Whatever else there is, she
asks for by its number or name, in the URL of each endpoint and in what is sent to it,
and then for a number or name that nothing has: both answers are the same. An
administrator asks, too, and is answered differently, so that each question is a real
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any
from urllib.parse import unquote

import pytest
from django.db import transaction
from django.urls import resolve
from django.utils import timezone

from broker.models import Queue
from broker.queueing.put import put
from broker.security import authorities
from console.accounts import roles
from dashboards.models import ReportRow
from tests.console.consumers.endpoints import Endpoint, at, some
from tests.console.dead_letters.test_discards import item, throw_away
from tests.console.edges.wire import make_client, make_endpoint
from tests.console.principals import Principal, signed_in
from tests.console.test_authorization import LINES
from tests.console.world import Values, act, ask, is_an_act, make_world, question
from tests.make import NOON, make_queue, minutes

pytestmark = pytest.mark.thorough

ABSENT: Values = {  # of each thing that is on a queue, or is one: what nothing has
    **dict.fromkeys(("message_id", "operation_id", "uow", "record"), 987_654_321),
    **dict.fromkeys(("connection_id", "endpoint_id"), 987_654_321),
    **dict.fromkeys(("connection", "endpoint"), 987_654_321),
    **dict.fromkeys(("name", "address", "client_message_id", "recurring"), "nowhere"),
    **dict.fromkeys(("bridge", "link", "xid", "recurring_message"), "nowhere"),
    "fingerprint": "f" * 12,
    "xid": "nowhere",
    **dict.fromkeys(("alert_id", "silence_id"), 987_654_321),
}
OF_NO_QUEUE = {
    "slug": "a view is its owner’s, or shared; reports are there for all",
    "credential": "it takes a permission to know of any",
    "record_id": "who may read the audit reads all of it",
    **dict.fromkeys(
        (
            *("match", "alias", "model", "username", "principal", "pattern"),
            *("redaction_rule", "report_schedule"),
        ),
        "it takes a permission to know of any definition",
    ),
    "settlement": "nobody can guess it, and it is good for who got it alone",
    "branch": "as a settlement",
    "pk": "a security key is there for its owner alone",
    "run_id": "a run is there for all; its rows are of queues that one may inquire",
    "rest": "it names nothing",
    **dict.fromkeys(
        ("alert_rule", "alert_target"),
        "rules are there for all; it takes a permission to know of targets",
    ),
    **dict.fromkeys(
        ("connection_factory", "destination", "dead_message_queue"),
        "it takes a permission to know of what bridges are made of",
    ),
}
SETTINGS = re.compile(  # as ``match`` is
    r"PUT /api/v1/(bridges|recurring-messages)/"
    r"|(PATCH|DELETE) /api/v1/bridges/<queue:bridge>$"
    r"|(PUT|PATCH|DELETE) /api/v1/queues/<queue:name>$"
    r"|/api/v1/addresses/<queue:address>$"
    r"|/api/v1/bridges/<queue:bridge>/(definition|document)"
    r"|/<queue:bridge>/(connection-factories|destinations|dead-message-queues)$"
)
OF_THE_CALLER = {"commit_branch", "back_out_branch"}  # its xids are nobody else's
NAMED = [
    one
    for one, _ in LINES
    if one.parameters
    and one.name not in OF_THE_CALLER
    and not one.parameters.keys() & OF_NO_QUEUE.keys()
    and not SETTINGS.search(str(one))
]
NOWHERE: Values = ABSENT | {  # the same of what is named in what is sent
    "letter": 987_654_321,
    "dlq": 987_654,
    "item": "987654321.987654",
    "binned": 987_654_321,
    "waiting": "987654321.987654",
    "lossy": "nowhere",
}
SENT: list[tuple[str, str, Values]] = [
    ("get", "dead/", {"on": "@dlq"}),
    ("get", "dead/", {"queue": "@name"}),
    ("get", "dead/order/", {"on": "@dlq"}),
    ("get", "dead/order/", {"fingerprint": "@fingerprint"}),
    ("post", "dead/order/", {"on": "@dlq", "kind": "remove"}),
    ("post", "dead/order/", {"fingerprint": "@fingerprint", "kind": "remove"}),
    ("post", "dead/resubmit/", {"message": "@letter"}),
    ("post", "dead/resubmit/", {"on": "@dlq"}),
    ("post", "dead/resubmit/", {"fingerprint": "@fingerprint"}),
    ("get", "discards/", {"queue": "@lossy"}),
    ("get", "discards/restore/", {"item": "@item"}),
    ("post", "discards/restore/", {"item": "@item"}),
    ("get", "messages/", {"f": "queue:@name"}),
    ("get", "messages/", {"f": "queue:@name", "slice": "99999999999.0~0~0~0~0~0~0"}),
    ("get", "messages/", {"f": "id:@message_id"}),
    ("get", "messages/", {"f": "fingerprint:@fingerprint"}),
    ("get", "messages/export/", {"f": "queue:@name", "bodies": ""}),
    ("get", "messages/completions/", {"text": "queue:@name"}),
    ("get", "messages/order/", {"which": "ticked", "item": "@waiting"}),
    ("get", "messages/order/", {"which": "all", "f": "queue:@name"}),
    ("post", "messages/order/", {"which": "all", "f": "id:@letter", "kind": "remove"}),
    ("get", "queues/other/send/", {"like": "@message_id"}),
    ("post", "queues/other/order/", {"which": "all", "kind": "move", "to": "@name"}),
    ("get", "scheduled/", {"queue": "@name"}),
    ("get", "history/", {"queue": "@name"}),
    ("get", "history/", {"bridge": "@bridge", "link": "@link"}),
    ("get", "settings/effective/", {"address": "@name"}),
    ("get", "reports/dead-letters/", {"queue": "@name", "days": "90"}),
    ("get", "go/", {"q": "@name"}),
    ("get", "queues/", {"q": "@name"}),
    ("get", "connections/", {"q": "@name"}),
    ("get", "api/v1/queues", {"text": "@name"}),
    ("get", "api/v1/connections", {"text": "@name"}),
    ("get", "api/v1/messages", {"f": "queue:@name"}),
    ("get", "api/v1/messages/count", {"f": "id:@message_id"}),
    ("get", "api/v1/messages/export", {"f": "queue:@name", "bodies": "true"}),
    ("get", "api/v1/dead-letters", {"queue": "DLQ", "fingerprint": "@fingerprint"}),
    ("get", "api/v1/dead-letters", {"origin_queue": "@name"}),
    ("post", "api/v1/operations", {"kind": "remove", "messages": ["@letter"]}),
    (
        "post",
        "api/v1/operations",
        {"kind": "remove", "letters": {"fingerprint": "@fingerprint"}},
    ),
    ("post", "api/v1/operations", {"kind": "remove", "filter": ["queue:@name"]}),
    (
        "post",
        "api/v1/operations",
        {"kind": "move", "queue": "@name", "filter": ["queue:other"]},
    ),
    ("post", "api/v1/resubmits", {"ids": ["@letter"]}),
    ("get", "api/v1/discards", {"queue": "@lossy"}),
    ("post", "api/v1/discards/restore", {"messages": ["@binned"]}),
    ("get", "api/v1/scheduled", {"queue": "@name"}),
    (
        "post",
        "api/v1/alert-silences",
        {"until": "1 h", "fingerprint": "@fingerprint"},
    ),
    ("post", "api/v1/resubmits", {"f": ["id:@letter"]}),
]
PART = 8  # of these, in one test
ITS_OWN = re.compile(  # of each page: the token against forged requests, and clocks
    r"\b[A-Za-z0-9]{64}\b|<time [^>]*data-clock.*?</time>|as of [0-9:]{8}"
    r"|\b\d+ ms\b|<span class=\"muted ago\">.*?</span>"
)
Answer = tuple[int, str, list[Any], str]


@pytest.fixture
def people(db: None) -> tuple[Principal, Principal]:
    everything = tuple(roles.ROLES["administrator"])
    ada = signed_in("administrator", everything, authorities.ALL)
    vera = signed_in("vera", everything, authorities.ALL, pattern="other")
    make_queue("other")
    put("other")
    return ada, vera


def make_everything(ada: Principal) -> Values:
    """All that there is, but for what acts make for themselves."""
    made = make_world(ada.client())
    (binned,) = throw_away()
    both = make_client("both")
    make_endpoint(both, "orders")
    make_endpoint(both, "other")
    now = timezone.now()
    put("orders", deliver_at=now + minutes(60))
    cells = {"cause": "EXPIRED", "dead_letters": 3, "last_at": NOON.isoformat()}
    ReportRow.objects.create(
        report="dead-letters", day=now.date(), n=1, cells=cells | {"queue": "orders"}
    )
    return made | {
        "lossy": "lossy",
        "item": item(binned),
        "binned": binned,
        "waiting": f"{put('orders').message_id}.{Queue.objects.get(name='orders').pk}",
        "dlq": Queue.objects.get(name="DLQ").pk,
    }


def answer_to(
    who: Principal, endpoint: Endpoint, url: str, said: Values | bytes, names: set[str]
) -> Answer:
    """All that can be told of an answer, but for what was asked for itself."""
    with transaction.atomic():
        found = ask(who.client(), endpoint, url, said, follow=True)
        transaction.set_rollback(True)
    body = b"".join(found) if found.streaming else found.content
    text = ITS_OWN.sub("", body.decode(errors="replace"))
    way = [(without(names, to), status) for to, status in found.redirect_chain]
    kind = found.headers.get("Content-Type", "")
    return found.status_code, kind, way, without(names, text)


def without(names: set[str], text: str) -> str:
    """The same, wherever what was asked for is said again."""
    some = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.sub(rf"(?<![\w.])({some})(?![\w.])", "…", unquote(text))


def compared(
    who: Principal,
    endpoint: Endpoint,
    *ways: tuple[str, Values | bytes],
    names: set[str],
) -> tuple[Answer, Answer]:
    """What somebody is answered of what is there, and of what is not."""
    there, nowhere = (answer_to(who, endpoint, *way, names) for way in ways)
    return there, nowhere


def filled(said: Any, values: Values) -> Any:
    """What is sent, with numbers and names in the places of ``@`` and a word."""
    if isinstance(said, dict):
        return {name: filled(one, values) for name, one in said.items()}
    if isinstance(said, list):
        return [filled(one, values) for one in said]
    for word, value in values.items():
        if said == f"@{word}":
            return value
        if isinstance(said, str):
            said = re.sub(rf"@{word}\b", str(value), said)
    return said


def test_every_parameter_of_an_url_is_thought_of() -> None:
    every = {name for one, _ in LINES for name in one.parameters}
    assert every == (ABSENT.keys() - {"record"}) | OF_NO_QUEUE.keys()


def leaks(
    people: tuple[Principal, Principal],
    endpoint: Endpoint,
    url: str,
    said: Values | bytes,
) -> Iterator[str]:
    """What is wrong with the answers to an URL, and to one that names nothing."""
    ada, vera = people
    gone = {name: ABSENT[name] for name in endpoint.parameters}
    ways = (url, said), (at(endpoint.route, gone), said)
    names = {str(one) for one in (*resolve(url).kwargs.values(), *gone.values())}

    there, nowhere = compared(vera, endpoint, *ways, names=names)

    if there != nowhere:
        yield f"{endpoint}: {differing(there, nowhere)}"
    elif there[0] != 404 and not there[2]:  # nor is she led to where it says so
        yield f"{endpoint}: {there[0]}"
    there, nowhere = compared(ada, endpoint, *ways, names=names)
    if there == nowhere:
        yield f"{endpoint} is no question: {there}"


def differing(there: Answer, nowhere: Answer) -> list[tuple[str, str]]:
    """The first lines of each part of two answers that differ."""
    return [
        next(
            (
                both
                for both in zip(one.split("\n"), other.split("\n"), strict=False)
                if both[0] != both[1]
            ),
            ("", ""),
        )
        for one, other in zip(map(str, there), map(str, nowhere), strict=True)
        if one != other
    ]


@pytest.mark.parametrize("few", some(filter(is_an_act, NAMED), 8))
def test_what_an_url_of_an_act_names_is_not_there_for_who_may_not_see_it(
    people: tuple[Principal, Principal], few: list[Endpoint]
) -> None:
    found: list[str] = []
    for endpoint in few:
        with transaction.atomic():
            url, said = act(endpoint, people[0].client())
            found += leaks(people, endpoint, url, said)
            transaction.set_rollback(True)

    assert not found, "\n".join(found)


@pytest.mark.parametrize("few", some([one for one in NAMED if not is_an_act(one)], 10))
def test_what_an_url_names_is_not_there_for_who_may_not_see_it(
    people: tuple[Principal, Principal], few: list[Endpoint]
) -> None:
    world = make_everything(people[0])

    every = (leaks(people, one, *question(one, world)) for one in few)
    found = list(chain.from_iterable(every))

    assert not found, "\n".join(found)


@pytest.mark.parametrize("part", range(0, len(SENT), PART))
def test_what_is_sent_names_nothing_that_one_may_not_see(
    people: tuple[Principal, Principal], part: int
) -> None:
    world, found = make_everything(people[0]), []
    for method, path, said in SENT[part : part + PART]:
        endpoint = Endpoint(method, path, "")
        ways = [(f"/{path}", filled(said, values)) for values in (world, NOWHERE)]
        given = [str(of[word]) for of in (world, NOWHERE) for word in words_of(said)]
        names = {part for one in given for part in (one, *one.split("."))}
        there, nowhere = compared(people[1], endpoint, *ways, names=names)
        if there != nowhere:
            found.append(f"{endpoint} {said}: {differing(there, nowhere)}")
        there, nowhere = compared(people[0], endpoint, *ways, names=names)
        if there == nowhere:
            found.append(f"{endpoint} {said} is no question: {there[:3]}")

    assert not found, "\n".join(found)


def words_of(said: Any) -> set[str]:
    """What is asked for by a word."""
    return set(re.findall(r"@(\w+)", str(said)))
