"""What strangers and operators write is text on every page: no markup, and no program.

The pages are those of ``console/urls.py`` and of Settings, and the texts those of the
models: a new page, or a new field, that is neither here nor excused fails the test.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import connection, models
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from broker.models import (
    Alert,
    AlertSilence,
    AlertTarget,
    AuditRecord,
    Branch,
    Bridge,
    ClientConnection,
    Credential,
    DeadLetter,
    Link,
    Message,
    Operation,
    Queue,
    RecurringMessage,
    UnitOfWork,
)
from console import urls  # noqa: F401  the URLs fill the site
from console.configuration import site as settings_site
from console.models import BrowserSession, SavedView
from dashboards.live import depths
from dashboards.models import ReportRun
from tests.console.acts import PAGES
from tests.console.audit.test_audited import named
from tests.console.conftest import SignIn
from tests.console.hostile import (
    AS_THEY_ARE,
    CANARY,
    CONTEXTS,
    EVIL,
    PAYLOADS,
    WHOLE,
    strange,
    words_in,
)
from tests.console.hostile_world import make_world
from tests.console.messages.hostile_fields import EXCUSED_FIELDS
from tests.console.second_factors.factors import give_password_again

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

NO_PAGE = "it answers programs, in no markup"
EXCUSED = {
    **dict.fromkeys(("console:alive", "console:ready", "console:metrics"), NO_PAGE),
    "console:logout": "it takes posts only",
}
ANSWERS = (200, 302, 403, 404, 405, 409)  # 400 only where nobody can read what is asked
FORMULA = ("=", "+", "-", "@", "\t", "\r")
TAG = re.compile(r"~(\w+)~")


@pytest.fixture
def world(sign_in: SignIn) -> Client:
    """Somebody who may all, in a broker full of payloads."""
    client = sign_in("administrator")
    user = User.objects.get()
    user.is_superuser = True
    make_world(user)
    Group.objects.create(name=EVIL)
    client.force_login(user)
    give_password_again(client)
    BrowserSession.objects.update(host=EVIL, browser=WHOLE)
    return client


@pytest.mark.parametrize("payload", AS_THEY_ARE, ids=range(len(AS_THEY_ARE)))
def test_the_search_for_markup_finds_each_payload_where_nobody_escaped_it(
    payload: str,
) -> None:
    assert any(strange(context.format(payload)) for context in CONTEXTS)


def test_there_are_sixty_payloads_and_no_two_are_the_same() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 60
    assert all(CANARY in payload for payload in PAYLOADS)


def test_every_text_that_is_stored_holds_a_payload(world: Client) -> None:
    texts = {
        f"{model._meta.label}.{field.name}": field
        for app in ("broker", "console", "dashboards")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.get_fields()
        if isinstance(field, TEXTS) and not getattr(field, "choices", None)
    }
    empty = {name for name, field in texts.items() if not holds_payload(field)}

    assert not sorted(empty ^ EXCUSED_FIELDS.keys()), "\n".join(
        sorted(empty ^ EXCUSED_FIELDS.keys())
    )


TEXTS = (models.CharField, models.TextField, models.JSONField)


def holds_payload(field: Any) -> bool:
    table, column = field.model._meta.db_table, field.column
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT EXISTS (SELECT FROM "{table}" WHERE "{column}"::text LIKE %s)',
            [f"%{CANARY}%"],
        )
        return bool(cursor.fetchone()[0])


def some(found: Any, field: str = "pk") -> list[Any]:
    return list(found.values_list(field, flat=True))


def ways_of() -> dict[str, list[Any]]:
    """What can stand in the address of a page, by the name of its parameter."""
    dead = DeadLetter.objects.all()
    others = Message.objects.exclude(pk__in=dead.values("message_id"))
    return {
        "message_id": [*some(dead, "message_id"), *some(others.order_by("-pk")[:16])],
        "fingerprint": sorted(set(some(dead, "fingerprint"))),
        "name": some(Queue.objects, "name"),
        "operation_id": some(Operation.objects),
        **dict.fromkeys(
            ("connection", "connection_id"),
            some(ClientConnection.objects.order_by("-pk")[:2]),
        ),
        "credential": some(Credential.objects, "name"),
        "endpoint": [1],
        "endpoint_id": [1],
        "pk": some(Authenticator.objects.filter(type="webauthn").order_by("-pk")[:3]),
        "run_id": some(ReportRun.objects),
        "record_id": some(AuditRecord.objects.order_by("-pk")[:3]),
        "uow": some(UnitOfWork.objects),
        "alert_id": some(Alert.objects),
        "silence_id": some(AlertSilence.objects)[:1],
        "alert_target": some(AlertTarget.objects, "name")[:1],
        "recurring": some(RecurringMessage.objects, "name")[:1],
        "bridge": some(Bridge.objects, "name"),
        "link": some(Link.objects.order_by("pk")[:1], "name"),
        "xid": some(Branch.objects),
        "slug": [*some(SavedView.objects, "slug")[:2], "dead-letters"],
        "client_message_id": [EVIL, *some(others.order_by("-pk")[14:18], "message_id")],
    }


QUERIES: dict[str, list[dict[str, Any]]] = {  # what else makes pages show texts
    "console:messages": [
        {},
        {"f": [f"type:*{CANARY}*"]},
        {"f": [WHOLE]},
        {"draft": WHOLE},
        {"f": ["state:discarded"]},
    ],
    "console:complete": [
        {"text": "queue:"},
        {"text": "type:"},
        {"text": "h."},
        {"text": WHOLE},
    ],
    "console:go": [{"q": CANARY}, {"q": EVIL}],
    "console:dead_letters": [{}, {"by": "queue"}, {"by": "cause"}, {"queue": EVIL}],
    "console:queues": [{}, {"q": CANARY}, {"q": EVIL}],
    "console:topology": [{}, {"q": CANARY}, {"q": EVIL}],
    "console:audit": [{}, {"actor": EVIL, "q": EVIL}],
    "console:effective": [{}, {"address": EVIL}, {"match": EVIL}],
    "console:order_found": [{"f": [f"type:*{CANARY}*"]}],
    "console:scheduled": [{}, {"q": EVIL}],
    "console:discards": [{}, {"queue": EVIL}],
    "console:message": [{}, {"as": "text"}, {"as": EVIL}],
    "dashboards:report": [{"days": "7"}, {"queue": EVIL}, {"sort": EVIL}],
    "dashboards:export": [{"format": "csv"}, {"format": "parquet"}],
    "account_login": [{"next": f"javascript:{CANARY}"}],
}


def addresses(name: str, page: URLPattern, ways: dict[str, list[Any]]) -> list[str]:
    """Of a page, for all that can stand in them."""
    parameters = list(page.pattern.converters)
    if not parameters:
        return [reverse(name)]
    first, *rest = parameters
    fixed = {one: ways[one][0] for one in rest}
    return [reverse(name, kwargs={first: value, **fixed}) for value in ways[first]]


def pages(client: Client) -> Iterator[tuple[str, str]]:
    """Every page, and every part of one that htmx asks for: its address and markup."""
    ways = ways_of()
    every = list(named(get_resolver()))
    # The audit first: each page that is refused here is a record of it.
    for name, page in sorted(every, key=lambda one: "audit" not in one[0]):
        if name in EXCUSED:
            continue
        for number, address in enumerate(addresses(name, page, ways)):
            for query in QUERIES.get(name, [{}])[: None if number < 2 else 1]:
                yield from asked(client, address, query, parts=number < 2)


def asked(
    client: Client, address: str, query: dict[str, Any], *, parts: bool
) -> Iterator[tuple[str, str]]:
    ways: list[dict[str, str]] = [{}, {"HX-Request": "true"}]
    for headers in ways if parts else ways[:1]:
        answer = client.get(address, query, headers=headers)
        assert answer.status_code in (*ANSWERS, *([400] if query else [])), address
        if not answer.get("Content-Type", "").startswith("text/html"):
            assert_no_browser_shows_it(answer)
        elif not answer.streaming:
            yield f"{address} {query} {headers}", answer.content.decode()


def assert_no_browser_shows_it(answer: Any) -> None:
    """A file, or JSON; no type that a message chose."""
    kind = answer.get("Content-Type", "").partition(";")[0]
    if kind in ("", "application/json"):
        return
    assert kind in (
        "application/octet-stream",
        "application/x-ndjson",
        "application/vnd.apache.parquet",
        "text/csv",
        "text/plain",
    )
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"


# Fields whose names are on some page; of others there is only the beginning.
SHOWN = {
    *("action", "actor", "argument", "audit_actor", "audit_object_name", "body"),
    *("audit_reason", "container_id", "content_type", "correlation_id", "credential"),
    *("day_cause", "day_queue", "error", "filter", "group_id", "group_note", "handler"),
    *("holder", "host", "key", "key_name", "link", "list", "message_id", "new", "node"),
    *("note", "origin", "other_id"),
    *("own_property", "owner_host", "patterns", "producer", "product", "property"),
    *("link_bridge", "link_destination", "link_error", "link_factory", "link_name"),
    *("link_description", "link_selector", "link_told", "link_transformer"),
    *("queue", "reason", "reply_to", "report_error", "rules", "subject", "to"),
    *("target_queue", "ticket", "username", "value", "view", "wanted", "where", "xid"),
}


def test_whatever_is_stored_is_text_on_every_page(world: Client) -> None:
    traces: list[str] = []
    said: list[str] = []
    for address, html in pages(world):
        traces += [f"{address}: {one}" for one in strange(html)]
        said += words_in(html)
    text = " ".join(said)

    assert traces == []
    assert [one for one in PAYLOADS if one.strip() not in text] == []
    assert SHOWN - set(TAG.findall(text)) == set()


def test_settings_show_it_as_text(world: Client) -> None:
    traces: list[str] = []
    for model in settings_site.site._registry:
        space = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        keys = some(model._default_manager.order_by("-pk")[:3])
        addresses = [reverse(f"{space}_changelist")]
        addresses += [reverse(f"{space}_change", args=[key]) for key in keys]
        addresses += [reverse(f"{space}_history", args=[key]) for key in keys[:1]]
        addresses += [reverse(f"{space}_delete", args=[key]) for key in keys[:1]]
        for address in addresses:
            answer = world.get(address, follow=True)
            assert answer.status_code in (200, 403), address
            traces += [f"{address}: {one}" for one in strange(answer.content.decode())]
    assert traces == []


@pytest.mark.parametrize("name", PAGES)
def test_what_is_typed_comes_back_as_text(sign_in: SignIn, name: str) -> None:
    client = sign_in("administrator")
    url, said, _ = PAGES[name](client)
    typed = {field: typed_for(value) for field, value in (said or {"a": ""}).items()}

    answer = client.post(url, typed, follow=True)

    assert answer.status_code < 500
    assert strange(answer.content.decode()) == []


def typed_for(value: Any) -> Any:
    return [EVIL] if isinstance(value, list) else value if value == "" else WHOLE[:250]


def test_what_is_pushed_to_open_pages_has_no_text_of_anybody(world: Client) -> None:
    every = depths.queues()

    html = depths.html(every, every)

    assert html.count("data-slot") > len(every) > 12
    assert CANARY not in html
    assert strange(html) == []


def test_no_cell_of_a_table_begins_like_a_formula(world: Client) -> None:
    answer = world.get(reverse("console:export"), {"format": "csv"})
    rows = list(csv.reader(io.StringIO(b"".join(answer).decode())))

    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if cell.startswith(FORMULA)] == []
    assert [cell for cell in cells if cell.startswith("'=HYPERLINK")]
