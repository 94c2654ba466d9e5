"""A broker in which every text that anybody can fill holds the payloads of ``hostile``.

Each text ends with the name of its field, so that a page can be asked which it shows.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from broker.models import (
    Act,
    Address,
    AddressSetting,
    AuditCheck,
    AuditRecord,
    Authority,
    ConnectionConsumer,
    DeadLetter,
    DeadLetterGroup,
    Discarded,
    Message,
    ModelQueue,
    Operation,
    OperationItem,
    OperationPatch,
    OperationSchedule,
    Owner,
    PreparedPut,
    Queue,
    QueueAlias,
    RulePass,
    RuleTable,
    Stoppage,
    Subscription,
)
from broker.queueing.put import NewMessage, put, put_many
from broker.transactions.scope import UnitOfWork
from console.models import SavedView
from dashboards.models import ReportRow, ReportRun
from tests.broker.bridges.carrying import bring
from tests.broker.promising import promise
from tests.console.alerts.hostile_alerts import make_alerts, make_recurring
from tests.console.bridges.hostile_links import make_links
from tests.console.edges.wire import make_client, make_credential, make_endpoint
from tests.console.hostile import EVIL, HEADS, TEXTS, WHOLE, bodies
from tests.console.letters import make_places
from tests.console.poison import rfh2, usr
from tests.console.second_factors.factors import give_key
from tests.make import make_queue, make_redaction, make_setting

NOW = timezone.now()


def filled(payload: str, field: str) -> str:
    return f"{payload} ~{field}~"


def selector(payload: str, field: str) -> str:
    """One that can be read, with a payload between its quotes."""
    text = filled(payload, field).replace("'", "''")
    return f"type = '{text}'"


def make_world(user: User) -> None:
    """Everything that pages show; done by, and for, a user whose name is hostile."""
    user.username = filled(EVIL, "username")
    user.first_name = filled(EVIL, "first_name")
    user.save()
    make_places(attempts=1)
    make_map()
    make_letters()
    make_bodies()
    make_units()
    make_clients(user)
    make_operations(user)
    make_sayings(user)
    make_reports()
    make_links(filled, TEXTS)
    make_alerts(filled, TEXTS)
    make_recurring(filled)
    for payload in TEXTS:
        give_key(user, filled(payload, "key_name"))


def make_map() -> None:
    """Queues and settings whose names are payloads; no validator looked at them."""
    for payload in (EVIL, *HEADS[:11]):
        name = filled(payload, "queue")
        make_queue(name, backout_queue=name)
        AddressSetting.objects.create(
            match=filled(payload, "match"),
            **{
                field.name: filled(payload, field.name)[: field.max_length]
                for field in AddressSetting._meta.fields
                if getattr(field, "max_length", None)
                and not getattr(field, "choices", None)
                and field.name != "match"
            },
        )
        ModelQueue.objects.create(name=filled(payload, "model"), backout_queue=name)
        QueueAlias.objects.create(
            name=filled(payload, "alias"), target=filled(payload, "target")
        )
    Queue.objects.update(
        description=filled(WHOLE, "description"),
        contact=filled(EVIL, "contact"),
        runbook=filled(EVIL, "runbook"),
    )
    Address.objects.update(
        durable_model=filled(EVIL, "durable_model"),
        nondurable_model=filled(EVIL, "nondurable_model"),
    )
    queue = make_queue("subscribed")
    Subscription.objects.create(
        address=queue.address,
        queue=queue,
        durable=True,
        client_id=filled(EVIL, "client_id"),
        name=filled(EVIL, "subscription"),
    )


def message(payload: str, address: str = "orders", **more: Any) -> NewMessage:
    """A message with a payload in every field that its sender fills."""
    texts = ("content_type", "message_id", "correlation_id", "reply_to", "subject")
    fields: dict[str, Any] = {
        name: filled(payload, name) for name in (*texts, "group_id", "producer")
    }
    properties = {
        filled(payload, "property"): filled(payload, "value"),
        "_BRK_NOTE": filled(payload, "own_property"),
        "list": [filled(payload, "list")],
    }
    body = filled(payload, "body").encode()
    return NewMessage(address, body, **{"properties": properties, **fields, **more})


def make_letters() -> None:
    """One dead letter of each payload, one waiting, one due later, one thrown away."""
    make_queue("lossy")
    make_setting("lossy", max_delivery_attempts=1)
    put_many([message(one) for one in TEXTS])
    put_many([message(one, "lossy") for one in TEXTS])
    for payload in TEXTS:
        for queue in ("orders", "lossy"):
            work = UnitOfWork(actor=filled(payload, "actor"))
            work.get(queue, 1)
            work.back_out(filled(payload, "error"))
    put_many([message(one) for one in TEXTS])
    put_many([message(EVIL, deliver_at=NOW + timedelta(hours=1))])
    put_many([message(EVIL, name := filled(EVIL, "queue"))])
    Queue.objects.filter(name=name).update(selector=selector(EVIL, "selector"))
    Discarded.objects.update(queue=filled(EVIL, "bin"), why=filled(WHOLE, "discarded"))
    DeadLetter.objects.update(
        origin_queue=filled(EVIL, "origin"), origin_address=filled(EVIL, "from")
    )


def make_bodies() -> None:
    make_queue("bodies")
    put_many([NewMessage("bodies", body, type_) for type_, body in bodies()])
    sent = put("bodies", WHOLE.encode(), **rfh2(usr(note=filled(EVIL, "folder"))))
    told = {name: filled(EVIL, name) for name in ("user_identifier", "put_appl_name")}
    Message.objects.filter(pk=sent.message_id).update(
        descriptor={"format": "MQHRF2", **told}
    )  # longer than IBM MQ's programs can send it
    put("bodies", b"{}", headers=WHOLE.encode(), descriptor={"format": "MQHRF2"})
    bring("bodies", link=filled(EVIL, "link"), other=filled(EVIL, "other_id"))


def make_units() -> None:
    """In flight, prepared, stopped."""
    make_queue("answers")
    promise(filled(EVIL, "xid"))
    UnitOfWork(actor=filled(EVIL, "holder")).get("bodies", 2)
    sent = PreparedPut.objects.get()
    PreparedPut.objects.update(fields=sent.fields | {"subject": filled(EVIL, "put")})
    Owner.objects.update(host=filled(EVIL, "owner_host"))
    queue = Queue.objects.get(name="bodies")
    Stoppage.objects.create(
        queue=queue, message_id=1, reason=2035, why=filled(WHOLE, "why")
    )
    owner = Owner.objects.latest("id").pk
    for payload in TEXTS:
        ConnectionConsumer.objects.create(
            owner_id=owner,
            queue=queue,
            handler=filled(payload, "handler"),
            selector=selector(payload, "wanted"),
            server_sessions=1,
            rate=filled(payload, "rate"),
        )


def make_clients(user: User) -> None:
    owner = Owner.objects.latest("id").pk
    credential = make_credential(
        "shop", user, patterns=filled(EVIL, "patterns").replace(" ", "\u00a0")
    )
    credential.name = filled(EVIL, "credential")
    credential.save()
    for payload in TEXTS:
        one = make_client(
            filled(payload, "container_id"),
            owner_id=owner,
            user=user,
            credential=credential,
            **{
                name: filled(payload, name) for name in ("mechanism", "host", "product")
            },
        )
    for payload in TEXTS:
        make_endpoint(one, filled(payload, "node"), name=filled(payload, "link"))


def make_operations(user: User) -> None:
    """One of each state; the last was looked at, with a patch, by a second person."""
    letters = list(DeadLetter.objects.order_by("message_id"))
    Queue.objects.filter(name="DLQ").update(approval_above=0)
    for state in Operation.State:
        made = Operation.objects.create(
            kind=Operation.Kind.MOVE,
            state=state,
            scope=filled(WHOLE, "scope"),
            argument=filled(EVIL, "argument"),
            reason=filled(WHOLE, "reason"),
            created_by=user,
            started_at=None if state == "planned" else NOW,
            ended_at=NOW if state in ("done", "cancelled") else None,
        )
        status = OperationItem.Status
        OperationItem.objects.bulk_create(
            OperationItem(
                operation=made,
                queue_id=letter.queue_id,
                message_id=letter.message_id,
                target=filled(payload, "target_queue"),
                status=status.SKIPPED if n % 2 else status.PLANNED,
                note=filled(payload, "note") if n % 2 else "",
                died_of=filled(payload, "died_of"),
            )
            for n, (letter, payload) in enumerate(zip(letters, TEXTS, strict=False))
        )
        make_schedule(made)


def make_schedule(made: Operation) -> None:
    stages, is_halted = OperationSchedule.Stage, made.state == "running"
    halt = {"why": "new", "messages": 3, "tried": 3, "fingerprint": "f1"}
    OperationSchedule.objects.create(
        operation=made,
        stage=stages.HALTED if is_halted else stages.REST,
        halt=halt | {"pattern": filled(WHOLE, "halt")} if is_halted else None,
        causes=[filled(EVIL, "cause")],
        start_problem=filled(WHOLE, "start_problem"),
    )
    document = {"body": {"merge": {filled(EVIL, "key"): filled(EVIL, "new")}}}
    changes = [[filled(EVIL, "where"), filled(WHOLE, "before"), filled(WHOLE, "after")]]
    OperationPatch.objects.create(
        operation=made,
        document=json.dumps(document),
        body=None,
        is_looked=True,
        alike=[{"kinds": [EVIL], "changes": changes, "messages": 1, "example": 1}],
    )


def make_sayings(user: User) -> None:
    """What people say: of groups, in rules, in views, and what the audit has of it."""
    for letter, payload in zip(DeadLetter.objects.all(), TEXTS, strict=False):
        DeadLetterGroup.objects.get_or_create(
            fingerprint=letter.fingerprint,
            defaults={
                "owner": user,
                "note": filled(payload, "group_note"),
                "ticket": f"https://tickets.test/?{filled(payload, 'ticket')}",
                "known": [[filled(payload, "known"), filled(payload, "known_cause")]],
            },
        )
        SavedView.objects.create(
            owner=user,
            slug=f"view-{letter.message_id}",
            name=payload[:60] + str(letter.message_id) + " ~view~",
            filter=f"type:{json.dumps(filled(payload, 'filter'))}",
            is_shared=True,
        )
    Authority.objects.create(user=user, pattern=filled(EVIL, "authority")[:255])
    make_redaction(
        filled(EVIL, "rule"), "property", filled(EVIL, "masked"), filled(EVIL, "queue")
    )
    table = RuleTable.objects.create(
        queue=Queue.objects.get(name="DLQ"),
        text=rules_text(),
        trouble=filled(WHOLE, "trouble"),
        mode=RuleTable.Mode.OBSERVE,
    )
    deed = {"rule": 1, "line": 1, "letters": 1, "action": filled(EVIL, "action")}
    deed |= {"to": filled(EVIL, "to"), "why": filled(WHOLE, "failed"), "sample": [1]}
    RulePass.objects.create(
        table=table, mode="observe", revision=1, began_at=NOW, looked_at=1, deeds=[deed]
    )
    for payload in TEXTS:
        AuditRecord.objects.create(
            actor_kind="user",
            act=Act.PAUSE,
            outcome="refused",
            detail=json.dumps({filled(payload, "detail"): filled(payload, "told")}),
            **{
                name: filled(payload, f"audit_{name}")
                for name in ("actor", "source", "object_kind", "object_id")
            },
            object_name=filled(payload, "audit_object_name"),
            reason=filled(payload, "audit_reason"),
        )
    AuditCheck.objects.update_or_create(
        pk=1, defaults={"number": 0, "hash": "", "fault": filled(WHOLE, "fault")}
    )


def rules_text() -> str:
    """A table that can be read, with payloads for people and in a name."""
    said = [f"* {line}" for line in filled(WHOLE, "rules").splitlines()]
    return "\n".join([*said, f"ACTION(FWD) FWDQ('{EVIL}')"])


def make_reports() -> None:
    ReportRun.objects.create(
        report="dead-letters",
        state="stopped",
        stage=filled(EVIL, "stage"),
        error=filled(WHOLE, "report_error"),
        ended_at=NOW,
    )
    for n, payload in enumerate(TEXTS):
        ReportRow.objects.create(
            report="dead-letters",
            day=NOW.date() - timedelta(days=n % 7),
            n=n,
            cells={
                "queue": filled(payload, "day_queue"),
                "cause": filled(payload, "day_cause"),
                "dead_letters": 1,
                "last_at": NOW.isoformat(),
            },
        )
