"""Whatever changes something leaves a record: each page, each operation of the API.

The list is that of the URLs: one that takes a POST, and is neither here nor excused,
fails the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from broker.models import Act, AuditRecord, Message
from console import api
from tests.console.acts import PAGES, WHY, done
from tests.console.api_acts import OPERATIONS
from tests.console.conftest import SignIn
from tests.console.edges.wire import make_client, make_endpoint, narrowed
from tests.console.own_acts import at
from tests.make import make_queue

pytestmark = pytest.mark.django_db

COOKIE = "it changes a cookie, and nothing here"
EXCUSED = {
    f"console:{name}": COOKIE
    for name in (
        "theme",
        "density",
        "refresh",
        "zone",
        "language",
        "times",
        "queue_columns",
        "own_columns",
    )
}
EXCUSED["single_sign_on"] = "it leads to the provider; the sign-in is recorded"
EXCUSED["account_reauthenticate"] = "the act that it is asked for leaves a record"
JOURNAL = "the journal has what applications do with messages"
EXCUSED_OPERATIONS = {
    **dict.fromkeys(("put_message", "put_messages", "get_messages"), JOURNAL),
    **dict.fromkeys(("settle_messages", "renew_lease"), JOURNAL),
    **dict.fromkeys(("get_in_branch", "give_back_branches", "put_batch"), JOURNAL),
    **dict.fromkeys(("prepare_puts", "prepare_branch"), JOURNAL),
    **dict.fromkeys(("accept_branch", "release_branch"), JOURNAL),
    **dict.fromkeys(("commit_branch", "back_out_branch"), JOURNAL),
    "preview_rules": "it changes nothing",
}
ANY = {"int": 1, "slug": "dead-letters", "queue": "orders", "text": "a"}  # by converter
METHODS = {  # by the operation's id
    operation["operationId"]: method
    for methods in api.document()["paths"].values()
    for method, operation in methods.items()
}


def named(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    """The pages of a resolver, but for those of the API and of Settings."""
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            if one.namespace not in ("backout_api", "console_settings"):
                inner = f"{one.namespace}:" if one.namespace else ""
                yield from named(one, space + inner)
        elif one.name:  # those without only lead elsewhere
            yield f"{space}{one.name}", one


def takes_posts(client: Client, name: str, one: URLPattern) -> bool:
    """Whether a POST is more than a method that is not allowed."""
    converters = one.pattern.converters.items()
    kwargs = {key: value_for(kind) for key, kind in converters}
    client.force_login(User.objects.get())  # one of them signs out
    return client.post(reverse(name, kwargs=kwargs)).status_code != 405


def value_for(kind: Any) -> object:
    word = type(kind).__name__.removesuffix("Converter").removesuffix("Name").lower()
    return ANY[word]


@pytest.mark.thorough
def test_every_page_that_takes_a_post_is_looked_at(sign_in: SignIn) -> None:
    client = sign_in("administrator")
    make_queue()
    every = dict(named(get_resolver()))

    taking = {name for name, one in every.items() if takes_posts(client, name, one)}

    assert taking == PAGES.keys() | EXCUSED.keys()


def test_every_operation_of_the_api_that_changes_something_is_looked_at() -> None:
    paths = api.document()["paths"].values()
    changing = {
        operation["operationId"]
        for methods in paths
        for method, operation in methods.items()
        if method != "get"
    }
    assert changing == OPERATIONS.keys() | EXCUSED_OPERATIONS.keys()


@pytest.mark.thorough
@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_changes_something_leaves_a_record(
    sign_in: SignIn, name: str
) -> None:
    client = sign_in("administrator")
    url, said, act = PAGES[name](client)

    assert_recorded(act, lambda: client.post(url, said, REMOTE_ADDR="10.0.0.7"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_of_the_api_leaves_a_record(sign_in: SignIn, name: str) -> None:
    client = sign_in("administrator")
    url, said, act = OPERATIONS[name](client)

    def ask() -> Any:
        method, json = METHODS[name], "application/json"
        call = getattr(client, method)
        return call(url, said, content_type=json, REMOTE_ADDR="10.0.0.7")

    assert_recorded(act, ask)


def assert_recorded(act: Act, do: Callable[[], Any]) -> None:
    """One record of whom it was that did it; and one of what is done at once: an
    operation is started, or the queue of an address is created."""
    before = AuditRecord.objects.count()

    answer = do()

    assert answer.status_code in (200, 302), answer.content
    one, *rest = AuditRecord.objects.order_by("pk")[before:]
    assert [more.act for more in rest] in ([], [Act.START], [Act.CREATE])
    assert (one.act, one.outcome) == (act, "done")
    assert (one.actor_kind, one.actor) == ("user", "administrator")
    assert one.source == "10.0.0.7"
    if said_why(act):
        assert one.reason == WHY["reason"]


def said_why(act: Act) -> bool:
    prepared = {Act.COMMIT_PREPARED, Act.BACK_OUT_PREPARED}
    links = {Act.START_LINK, Act.PAUSE_LINK, Act.RESUME_LINK, Act.STOP_LINK}
    return act in {Act.PAUSE, Act.RESUME, Act.START} | prepared | links


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_who_may_not_is_recorded_and_nothing_is_done(
    sign_in: SignIn, role: str
) -> None:
    client, name = sign_in(role), "console:new_queue"
    url, said, _ = PAGES[name](client)

    for ask in (client.get, client.post):
        assert ask(url, said).status_code == 403

    one, other = AuditRecord.objects.filter(act=Act.REACH).order_by("pk")
    assert (one.actor, one.outcome, one.object_name) == (role, "refused", url)
    assert one.details == {"method": "GET", "path": url, "view": name}
    assert other.details["method"] == "POST"
    assert not Message.objects.exists()


def test_who_lacks_an_authority_is_recorded_by_page_and_api(sign_in: SignIn) -> None:
    make_queue("invoices")
    client = narrowed(Client())
    one = make_client()
    make_endpoint(one, "orders")
    make_endpoint(one, "invoices")

    page = client.post(at("console:close_connection", one.pk), WHY)
    url = f"/api/v1/connections/{one.pk}/close"
    told = client.post(url, WHY, content_type="application/json")

    assert (page.status_code, told.status_code) == (403, 403)
    records = AuditRecord.objects.filter(act=Act.CLOSE_CONNECTION, outcome="refused")
    about = [(record.object_kind, record.object_id) for record in records]
    assert about == [("connection", str(one.pk))] * 2
    assert "lacks the authority 'set'" in records[0].reason


def test_an_act_that_is_refused_for_what_is_there_is_one_record(
    sign_in: SignIn,
) -> None:
    client = sign_in("operator")
    operation = done(client)
    before = AuditRecord.objects.count()

    answer = client.post(at("console:start", operation.pk), WHY)

    assert answer.status_code == 409
    assert AuditRecord.objects.count() == before + 1
    assert AuditRecord.objects.latest("pk").act == Act.START
