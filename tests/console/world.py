"""One of everything that pages and the API have a URL for, and how each is asked."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from broker import acts
from broker.amqp.messages import batches
from broker.models import AuditRecord, QueueAlias, RedactionRule
from broker.operations import rules
from broker.queueing.put import NewMessage, put, put_many
from broker.transactions.scope import UnitOfWork
from console.messages.acts import SaveView
from dashboards.models import ReportRun
from tests.broker.promising import promise
from tests.console.acts import PAGES, RULES
from tests.console.alerts.alert_acts import make_alerts
from tests.console.api_acts import OPERATIONS
from tests.console.bridges.api_bridge_acts import make_bridge
from tests.console.bridging import make_branch
from tests.console.configuration.api_definition_acts import make_schedule
from tests.console.consumers.endpoints import Endpoint, at
from tests.console.edges.wire import make_client, make_credential, make_endpoint
from tests.console.letters import die, make_places
from tests.make import (
    make_messages,
    make_queue,
    make_recurring,
    make_redaction,
    make_user,
    plan_resubmit,
)

Values = dict[str, Any]
JSON = "application/json"
XID = "bk-7-1"
LEASE = {"limit": 1, "lease_s": 3600}  # longer than anybody takes to ask
BATCH = batches.sealed([NewMessage("orders")])
SAID: dict[
    str, Values | bytes
] = {  # what is sent along, where no act of ``acts`` says it
    "console:order": {"which": "all"},
    "console:order_found": {"f": ["state:dead"], "which": "all"},
    "console:effective": {"address": "orders"},
    "put_message": {"body": "x"},
    "put_messages": {"messages": [{"body": "x"}]},
    "settle_messages": {"outcome": "accept"},
    "preview_rules": {"text": RULES},
    **dict.fromkeys(("put_batch", "prepare_puts", "prepare_branch"), BATCH),
    "accept_branch": BATCH,
}


NAMES: Values = {
    "bridge": "bridge",
    "link": "out",
    "connection_factory": "from",
    "destination": "orders",
    "dead_message_queue": "dmq",
    "name": "orders",
    "address": "orders",
    "match": "orders",
    "pattern": "orders",
    "alias": "OLD",
    "model": "SYSTEM.DURABLE.MODEL.QUEUE",
    "username": "shop",
    "redaction_rule": "PII-3",
    "principal": "user:shop",
}


def make_world(client: Client) -> Values:
    """What URLs name, by the name of it in their patterns.

    Args:
        client: of the first user that there is, who may do all this.
    """
    user = User.objects.earliest("pk")
    make_places()
    letter = die(content_type="application/json")
    message_id = put("orders", message_id="order-7").message_id
    put_many(make_messages(5))
    plan = plan_resubmit(user, "all dead letters")
    patch = {"body": {"merge": {"a": 1}}}
    client.put(f"/api/v1/operations/{plan.pk}/patch", patch, content_type=JSON)
    rules.save("DLQ", RULES, user)
    connection = make_client()
    got = client.post("/api/v1/queues/orders/get", LEASE, content_type=JSON).json()
    held = client.post("/api/v1/queues/orders/branch", LEASE, content_type=JSON)
    branch = batches.opened(held.content).head["branch"]
    make_queue("answers")
    promised = promise(entries=1)
    work = UnitOfWork(actor="shop.handle")
    work.get("orders")
    make_branch(make_bridge(), XID)
    QueueAlias.objects.create(name="OLD", target="orders")
    masked = make_redaction("PII-3", "hl7", "PID-5")
    RedactionRule.objects.filter(pk=masked.pk).update(is_active=False)
    make_user("shop", pattern="orders")
    return NAMES | {
        "message_id": message_id,
        "letter": letter.message_id,
        "client_message_id": "order-7",
        "fingerprint": letter.fingerprint,
        **dict.fromkeys(("connection", "connection_id"), connection.pk),
        **dict.fromkeys(("endpoint", "endpoint_id"), make_endpoint(connection).pk),
        "credential": make_credential(user=user).name,
        "operation_id": plan.pk,
        **dict.fromkeys(("recurring", "recurring_message"), make_recurring().name),
        "report_schedule": make_schedule("Mondays").name,
        "record_id": AuditRecord.objects.latest("pk").pk,
        "settlement": got["settlement"],
        "branch": branch,
        "slug": acts.act(user, SaveView("All", ("state:dead",))).slug,
        "uow": work.id,
        "prepared": promised.id,
        "xid": XID,
        "run_id": ReportRun.objects.create(report="dead-letters", state="done").pk,
        "rest": "nothing",
        **make_alerts(),
        "pk": 1,  # of a security key, which is nobody else's to see
    }


def values_for(endpoint: Endpoint, world: Values) -> Values:
    """What stands in the URL of an endpoint."""
    values = {name: world[name] for name in endpoint.parameters}
    if "rules/" in endpoint.route or "dead-letter-rules" in endpoint.route:
        values["name"] = "DLQ"
    if "prepared/" in endpoint.route:
        values["uow"] = world["prepared"]
    if endpoint.route.endswith("/edit/"):
        values["message_id"] = world["letter"]
    if "reports/" in endpoint.route:
        values |= {"slug": "dead-letters"}
    return values


def is_an_act(endpoint: Endpoint) -> bool:
    """Whether what is sent to it is made by ``acts``, in a world of its own."""
    acts = OPERATIONS if endpoint.is_of_the_api else PAGES
    return endpoint.name in acts and endpoint.method != "get"


def act(endpoint: Endpoint, client: Client) -> tuple[str, Values]:
    """Make what an endpoint changes; return where it is asked, and what is sent."""
    acts = OPERATIONS if endpoint.is_of_the_api else PAGES
    url, said, _ = acts[endpoint.name](client)
    return url, said


def question(endpoint: Endpoint, world: Values) -> tuple[str, Values | bytes]:
    """The same of what changes nothing, or is excused, in a world that is made."""
    url = at(endpoint.route, values_for(endpoint, world))
    if endpoint.name in ("prepare_puts", "prepare_branch"):
        url += "?xid=x"
    return url, SAID.get(endpoint.name, {})


def ask(
    client: Client, endpoint: Endpoint, url: str, said: Values | bytes, **more: Any
) -> Any:
    """Send it as a browser or a program does."""
    call = getattr(client, endpoint.method)
    if isinstance(said, bytes):
        return call(url, said, content_type=batches.CONTENT_TYPE, **more)
    if endpoint.method == "get":
        return call(url, said, **more)
    if endpoint.is_of_the_api:
        return call(url, said, content_type=JSON, **more)
    if endpoint.method == "post":
        return call(url, said, **more)
    return call(url, **more)
