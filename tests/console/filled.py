"""A console with something on every page, and where these pages are."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import quote

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from broker.acts import act
from broker.bridges.books import Outcome
from broker.models import AuditRecord, Message, Queue
from broker.monitoring import dead_letter_groups
from broker.operations import queue_pause, rules
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from console import urls  # noqa: F401  the URLs fill the site
from console.accounts import roles
from console.configuration import site as settings_site
from console.messages.acts import SaveView
from console.queues.pages.queues import PLACES
from tests.broker.bridges.carrying import bring, carry
from tests.broker.handling import Seen, broken, handler, session
from tests.broker.promising import promise
from tests.console.alerts.alert_acts import make_alerts
from tests.console.bridges.filled_links import make_links
from tests.console.dead_letters.test_discards import item, throw_away
from tests.console.edges.wire import (
    make_client,
    make_credential,
    make_endpoint,
    make_listener,
)
from tests.console.letters import attempt, die, make_places
from tests.console.messages.filled_tasks import make_tasks
from tests.console.operations.filled_operations import make_operations
from tests.console.poison import DEAD_LETTERS, make_payments, poison, remove, rfh2, usr
from tests.console.reports.filled_reports import make_reports
from tests.make import (
    make_messages,
    make_queue,
    make_recurring,
    make_setting,
    make_user,
    minutes,
)

LONG = "eu.customers.returns.of-goods-that-were-never-ordered.second-try"
RULES = "DESTQ('orders') ACTION(FWD) FWDQ(BILLS) RETRY(3)\nACTION(IGNORE)"
BODY = b'{"order": 4711, "currency": "XBT", "lines": [{"sku": "A-1", "many": 2}]}'
HL7 = (
    b"MSH|^~\\&|LAB|EAST|CLINIC|WEST|20260314120000||ORU^R01|17|P|2.5\r"
    b"PID|1||4711^^^EAST||Doe^Jane||19700101|F\rOBX|1|NM|718-7^Hb||13.2|g/dL\r"
)
BODIES = {  # a body of each kind that pages can show
    "application/json": BODY,
    "application/xml": b"<order id='4711'><line sku='A-1'>2</line><note/></order>",
    "x-application/hl7-v2+er7": HL7,
    "text/plain": b"first line\nsecond line, which is long: " + b"la " * 200,
    "application/gzip": gzip.compress(b'{"a": {"b": {"c": {"d": [1, 2, 3, 4]}}}}'),
    "application/octet-stream": bytes(range(256)) * 3,
    "": b"",
}
Paths = dict[str, list[str]]  # where its pages are, by the name of a URL


def omar() -> User:
    """He may do everything in the console, and in Settings."""
    user = make_user("omar", permissions=tuple(roles.ROLES["administrator"]))
    user.password = make_password("correct horse", hasher="argon2")  # as the server's
    user.is_staff = True
    user.save(update_fields=["password", "is_staff"])
    return user


def empty() -> Paths:
    """The pages of a broker in which nothing has happened."""
    return {
        **{f"console:{name}": [at(f"console:{name}")] for name in LISTS},
        "console:messages": ["/messages/", "/messages/?f=queue%3Anowhere"],
        "console:effective": ["/settings/effective/?address=nowhere"],
        "console:go": ["/go/?q=nowhere"],
        "dashboards:reports": ["/reports/"],
        "dashboards:report": ["/reports/dead-letters/"],
    }


LISTS = (
    *("queues", "overview", "dead_letters", "rules", "discards", "consumers"),
    *("connections", "credentials", "health", "operations", "audit", "scheduled"),
    *("units", "preferences", "rights", "bridges", "alerts", "new_queue", "tasks"),
    "new_link",
)


def fill(user: User) -> Paths:
    """Put something on every page; returns where each is, in each of its states."""
    now = timezone.now()
    make_places(delay_ms=30_000)
    make_queue(LONG)
    for name, fields in (("heartbeat", {}), ("report", {"crontab": "0 6 * * 1-5"})):
        make_recurring(name, address=LONG, **fields)
    queue_pause.pause(LONG, user=user, reason="the provider is down")
    make_queue("bills", backout_threshold=3)
    make_queue("answers")
    make_setting("#", max_delivery_attempts=-1)
    paths: Paths = {}
    steps = (of_letters, of_messages, of_operations, of_units, of_clients, of_queues)
    for step in (*steps, of_links, of_reports, of_the_rest):
        for name, more in step(user, now).items():
            paths.setdefault(name, []).extend(more)
    return paths


def at(name: str, *args: object, query: str = "") -> str:
    return reverse(name, args=args) + query


def of_letters(user: User, now: datetime) -> Paths:
    """Groups of dead letters: one nobody looks after, and one with all that is said."""
    days_ago = now - timedelta(days=2)  # written with its date, which takes its room
    new = die("ValueError: row 7 is bad", now=days_ago, body=BODY)
    for number in range(5):
        die(f"ValueError: row {number} is bad", now=now - minutes(45 - number))
    error = "TypeError: " + "no name was given " * 30 + "\n  File order.py, line 7"
    known = die(error, now=now - minutes(9), content_type="application/json", body=BODY)
    rules.save("DLQ", RULES, user)
    rules.run(rules.switch("DLQ", "observe", user).pk)
    which = [("orders", "MAX_DELIVERY_ATTEMPTS")]
    dead_letter_groups.snooze(known.fingerprint, user, which, until=now + minutes(60))
    dead_letter_groups.describe(
        known.fingerprint,
        owner=user,
        note="x" * 300,
        ticket="https://tickets.example/SHOP-4711",
    )
    return {
        "console:dead_letters": ["/dead/", "/dead/?by=queue", "/dead/?standing=mine"],
        "console:rules": ["/dead/rules/"],
        "console:rule_table": ["/dead/rules/DLQ/", "/dead/rules/orders/"],
        "console:dead_letter_group": [
            at("console:dead_letter_group", one.fingerprint) for one in (new, known)
        ],
        "console:order_letters": [
            at("console:order_letters", query=f"?fingerprint={new.fingerprint}")
        ],
        "console:message": [message(one.message_id) for one in (new, known)],
        "console:edit": [at("console:edit", new.message_id)],
        "console:compare": [at("console:compare", new.message_id)],
    }


def message(number: int, query: str = "") -> str:
    return at("console:message", number, query=query)


def of_messages(user: User, now: datetime) -> Paths:
    """A message in each state, and a body of each kind."""
    shown = [
        put("answers", body, content_type=content_type, subject="answer").message_id
        for content_type, body in BODIES.items()
    ]
    of_ibm = put("answers", b"a", **rfh2(usr(tenant="t7", region="north"))).message_id
    put_many(make_messages(60, LONG, subject="x" * 200, producer="shop"))
    put_many(make_messages(2, "bills", message_id="ID:of/a-sender twice"))
    scheduled = put("bills", b"{}", deliver_at=now + minutes(90)).message_id
    expiring = put("bills", b"{}", expires_at=now + minutes(30)).message_id
    put("orders", BODY, content_type="application/json", now=now)
    (delayed,) = attempt("KeyError: 'name'", now=now)
    (discarded,) = throw_away()
    throw_away(3)
    make_payments()
    poison(now - minutes(9))
    remove(now=now)
    moved = Message.objects.latest("pk").pk
    (accepted,) = attempt(queue="bills", now=now)
    act(user, SaveView("Dead ones", ("state:dead",), is_shared=True))
    states = (of_ibm, scheduled, expiring, delayed, discarded, moved, accepted)
    made = (*shown, *make_tasks(), *states, *make_carried(now))
    paths = [message(one) for one in made]
    return {
        "console:message": [*paths, message(shown[0], "?as=hex")],
        "console:messages": [
            "/messages/",
            "/messages/?f=state%3Adead",
            f"/messages/?f=queue%3A{LONG}&f=body%3A17",
            "/messages/?f=state%3Adead&f=queue%3Abilling",
        ],
        "console:order_found": ["/messages/order/?which=all&f=state%3Adead"],
        "console:edit_view": ["/views/dead-ones/change/"],
        "console:by_client_id": ["/m/" + quote("ID:of/a-sender twice") + "/"],
        "console:go": ["/go/?q=a", f"/go/?q={delayed}x"],
        "console:scheduled": ["/scheduled/"],
        "console:recurring": ["/scheduled/recurring/"],
        "console:tasks": ["/tasks/"],
        "console:discards": ["/discards/"],
        "console:restore": [at("console:restore", query=f"?item={item(discarded)}")],
    }


def make_carried(now: datetime) -> tuple[int, int, int]:
    """A message that a link carried from here to here, its copy, and a dead one."""
    make_queue("returns")
    make_queue("imq.bridge.jms.dmq")
    put("returns", BODY, now=now)
    [(source, copy)] = carry("returns", "answers", now=now, latency_ms=4711)
    link = "mail/letters-to-the-archive"
    why = Outcome.TRANSFORMER_FAILURE
    other = "ID:414d5120514d3120202020202020202061b3c7e620008403"
    dead = {"role": "dead", "outcome": why, "other": other}
    return source, copy, bring("imq.bridge.jms.dmq", now=now, link=link, **dead)


def of_operations(user: User, now: datetime) -> Paths:
    every = make_operations(user, BODY)
    return {
        "console:operations": ["/operations/"],
        "console:operation": [at("console:operation", one.pk) for one in every],
        "console:order": [
            "/queues/billing/order/?which=all",
            "/queues/bills/order/?which=all&kind=move",
        ],
    }


def of_units(user: User, now: datetime) -> Paths:
    """One holds messages, one is prepared, one has been given up."""
    promised = promise(entries=0).id
    holding = UnitOfWork(actor="shop.handle")
    holding.get("bills", 2)
    return {
        "console:units": ["/uow/"],
        "console:unit": [at("console:unit", holding.id)],
        "console:back_out_unit": [at("console:back_out_unit", holding.id)],
        "console:health": ["/health/"],
        "console:commit_prepared": [at("console:commit_prepared", promised)],
        "console:back_out_prepared": [at("console:back_out_prepared", promised)],
    }


def of_clients(user: User, now: datetime) -> Paths:
    """Somebody gets and puts, somebody strange is there; and one queue stands still."""
    make_listener()
    credential = make_credential("shop", user)
    make_credential("mail", user, patterns="mail.#\neu.mail.#")
    shop = make_client(user=user, credential=credential)
    gets = make_endpoint(shop, "orders", name="rcv-1", credit=90, messages=4711)
    make_endpoint(shop, "", name="anyone", session=2)
    long = "x" * 255
    make_endpoint(make_client(long, product=long, is_encrypted=False), long, name=long)
    make_queue("labels")
    Queue.objects.filter(name=DEAD_LETTERS).update(max_depth=0)
    broken("labels")
    session(handler(Seen(), queue="labels", selector="amount > 1000")).serve()
    return {
        "console:consumers": ["/consumers/"],
        "console:connections": ["/connections/", "/connections/?q=nothing"],
        "console:connection": [at("console:connection", shop.pk)],
        "console:close_connection": [at("console:close_connection", shop.pk)],
        "console:close_endpoint": [at("console:close_endpoint", shop.pk, gets.pk)],
        "console:credentials": ["/credentials/"],
        "console:create_credential": ["/credentials/new/"],
        "console:revoke_credential": [at("console:revoke_credential", credential.name)],
    }


def of_queues(user: User, now: datetime) -> Paths:
    return {
        "console:queues": ["/queues/", "/queues/?q=bil"],
        "console:topology": ["/topology/", "/topology/?q=bil"],
        "console:overview": ["/"],
        "console:queue": [
            *(f"/queues/bills/?place={place}" for place in PLACES),
            at("console:queue", LONG),
            "/queues/DLQ/",
        ],
        "console:new_queue": ["/new-queue/"],
        "console:send": [at("console:send", LONG), at("console:send", "bills")],
        "console:import_messages": [at("console:import_messages", LONG)],
        "console:connect": [at("console:connect", LONG)],
        "console:pause": [at("console:pause", "bills")],
        "console:resume": [at("console:resume", LONG)],
        "console:reset_counters": [at("console:reset_counters", "bills")],
        "console:effective": [
            "/settings/effective/",
            "/settings/effective/?address=orders",
        ],
    }


def of_links(user: User, now: datetime) -> Paths:
    """A link in each state, what they could not carry, and what is in doubt."""
    return make_links(user, LONG, now)


def of_reports(user: User, now: datetime) -> Paths:
    return {
        "dashboards:reports": ["/reports/"],
        "dashboards:report": make_reports(user, LONG, now),
    }


def of_the_rest(user: User, now: datetime) -> Paths:
    """The record of all that was done above, and one's own pages."""
    alert = make_alerts(LONG)["alert_id"]
    record = AuditRecord.objects.exclude(reason="").latest("pk")
    newest = AuditRecord.objects.latest("pk")
    return {
        "console:alerts": ["/alerts/"],
        "console:alert": [at("console:alert", alert)],
        "console:audit": ["/audit/", "/audit/?act=operation"],
        "console:audit_record": [
            at("console:audit_record", one.pk) for one in (record, newest)
        ],
        "console:preferences": ["/preferences/"],
        "console:rights": ["/rights/"],
        "console:api_reference": ["/api/docs/"],
        "console:api_part": ["/api/docs/messages/", "/api/docs/bridges/"],
        "mfa_index": [at("mfa_index")],
        "account_reauthenticate": [at("account_reauthenticate")],
        "console:password_change": ["/accounts/password/"],
        "console:password_change_done": ["/accounts/password/done/"],
    }


def settings_paths() -> Iterator[str]:
    """The pages of Settings: a list, a new one and an old one of each model."""
    yield "/admin/"
    for model in settings_site.site._registry:
        label, name = model._meta.app_label, model._meta.model_name
        if f"{label}.view_{name}" not in roles.ADMINISTRATOR:
            continue
        yield at(f"admin:{label}_{name}_changelist")
        if f"{label}.add_{name}" in roles.ADMINISTRATOR:
            yield at(f"admin:{label}_{name}_add")
        if first := model._default_manager.first():
            yield at(f"admin:{label}_{name}_change", first.pk)
