"""Whatever a page can change, ready to be changed, and the act that is recorded."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker import operations
from broker.models import Act, Operation, OperationItem, Queue
from broker.monitoring.dead_letters import Letter
from broker.operations import rules
from broker.queueing.put import put_many
from broker.transactions.scope import UnitOfWork
from dashboards.models import ReportRun
from tests.broker.handling import stopped
from tests.broker.promising import promise
from tests.console.alerts.alert_acts import PAGES as ALERTS
from tests.console.bridges.bridge_acts import BRIDGES
from tests.console.dead_letters.test_discards import item, throw_away
from tests.console.edges.wire import make_client, make_credential, make_endpoint
from tests.console.letters import die, make_places
from tests.console.messages.sending_acts import SENDING
from tests.console.operations.again_acts import AGAIN
from tests.console.own_acts import OWN, Case, at, planner
from tests.make import (
    make_messages,
    make_queue,
    make_recurring,
    make_redaction,
    make_user,
    plan_resubmit,
)

RULES = "ACTION(IGNORE)"
WHY = {"reason": "it hangs"}
NEW = {"name": "shop", "owner": "administrator", "patterns": ["#"]}


def planned() -> Operation:
    make_places()
    die()
    return plan_resubmit(planner(), "all dead letters")


def done(client: Client) -> Operation:
    operation = planned()
    client.post(reverse("console:start", args=[operation.pk]), WHY)
    return operation


def prepared() -> int:
    make_queue()
    put_many(make_messages(3))
    make_queue("answers")
    uow = promise().id
    assert uow is not None
    return uow


def pause(_: Client) -> Case:
    make_queue()
    return at("console:pause", "orders"), WHY, Act.PAUSE


def resume(_: Client) -> Case:
    make_queue(paused=True)
    return at("console:resume", "orders"), WHY, Act.RESUME


def reset_counters(_: Client) -> Case:
    make_queue()
    said = {"counters": ["messages_added"]}
    return at("console:reset_counters", "orders"), said, Act.RESET_COUNTERS


def new_queue(_: Client) -> Case:
    said = {"name": "orders", "routing_type": 1, "backout_threshold": 0}
    return at("console:new_queue"), said, Act.CREATE


def order(_: Client) -> Case:
    make_queue()
    put_many(make_messages(1))
    said = {"which": "all", "kind": "remove"}
    return at("console:order", "orders"), said, Act.PLAN


def order_letters(_: Client) -> Case:
    make_places()
    die()
    return at("console:order_letters"), {"kind": "remove"}, Act.PLAN


def plan_letters(_: Client) -> Case:
    make_places()
    die()
    return at("console:plan_resubmit"), {}, Act.PLAN


def start(_: Client) -> Case:
    return at("console:start", planned().pk), WHY, Act.START


def waiting() -> tuple[Operation, str]:
    """A plan of somebody else, and its seal."""
    make_places()
    die()
    Queue.objects.filter(name="DLQ").update(approval_above=0)
    plan = plan_resubmit(make_user("omar"), "all dead letters")
    return plan, plan.approval.seal


def approve(_: Client) -> Case:
    plan, seal = waiting()
    return at("console:approve", plan.pk), WHY | {"seal": seal}, Act.APPROVE


def explain(_: Client) -> Case:
    plan, _seal = waiting()
    plan.created_by = User.objects.get(username="administrator")
    plan.save()
    return at("console:explain", plan.pk), WHY, Act.EXPLAIN


def cancel(_: Client) -> Case:
    return at("console:cancel", planned().pk), {}, Act.CANCEL


def undo(client: Client) -> Case:
    return at("console:undo", done(client).pk), {}, Act.UNDO


def restore(_: Client) -> Case:
    (message_id,) = throw_away()
    return at("console:restore"), {"item": [item(message_id)]}, Act.RESTORE


def unmask(_: Client) -> Case:
    message_id = letter().message_id
    make_redaction("PII-1", "json", "/name")
    return at("console:unmask", message_id), WHY, Act.UNMASK


def start_delivery(_: Client) -> Case:
    stopped()
    make_queue(settings.BROKER_DEAD_LETTER_QUEUE)
    return at("console:start_delivery", "orders"), {}, Act.START_DELIVERY


def close_connection(_: Client) -> Case:
    return at("console:close_connection", make_client().pk), WHY, Act.CLOSE_CONNECTION


def close_endpoint(_: Client) -> Case:
    one = make_client()
    url = at("console:close_endpoint", one.pk, make_endpoint(one).pk)
    return url, WHY, Act.CLOSE_ENDPOINT


def create_credential(_: Client) -> Case:
    said = NEW | {"owner": planner().username, "patterns": "#", "may_put": "on"}
    return at("console:create_credential"), said, Act.CREATE_CREDENTIAL


def revoke_credential(_: Client) -> Case:
    made = make_credential(user=planner())
    return at("console:revoke_credential", made.name), WHY, Act.REVOKE_CREDENTIAL


def commit_prepared(_: Client) -> Case:
    return at("console:commit_prepared", prepared()), WHY, Act.COMMIT_PREPARED


def back_out_prepared(_: Client) -> Case:
    return at("console:back_out_prepared", prepared()), WHY, Act.BACK_OUT_PREPARED


def run(_: Client) -> Case:
    return at("dashboards:run", "dead-letters"), {}, Act.RUN_REPORT


def cancel_run(_: Client) -> Case:
    one = ReportRun.objects.create(report="dead-letters")
    return at("dashboards:cancel", "dead-letters", one.pk), {}, Act.CANCEL_REPORT


def letter() -> Letter:
    make_places()
    return die(content_type="application/json")


def plan() -> Operation:
    letter()
    return plan_resubmit(planner(), "all dead letters")


def running() -> Operation:
    operation = plan()
    operations.arrange(operation.pk, pace=None, canary=1)
    return operations.start(operation.pk)


def order_found(_: Client) -> Case:
    letter()
    said = {"f": ["state:dead"], "which": "all", "kind": "remove"}
    return at("console:order_found"), said, Act.PLAN


def edit(client: Client) -> Case:
    url = at("console:edit", letter().message_id)
    page = client.get(url).context["form"]
    typed = {name: page.initial.get(name, "") for name in page.fields}
    typed |= {"body": '{"a": 1}', "reason": "it hangs"}
    typed |= {"seen": client.post(url, typed).context["looked"].seal, "send": ""}
    return url, typed, Act.PLAN


def repair(_: Client) -> Case:
    said = {"how": "merge", "body": '{"a": 1}'}
    return at("console:repair", plan().pk), said, Act.ALTER


def pause_operation(_: Client) -> Case:
    return at("console:pause_operation", running().pk), {}, Act.HALT


def carry_on(_: Client) -> Case:
    operation = running()
    operations.pause(operation.pk)
    return at("console:carry_on", operation.pk), {}, Act.CARRY_ON


def pace(_: Client) -> Case:
    return at("console:pace", running().pk), {"pace": 7}, Act.ALTER


def schedule_operation(_: Client) -> Case:
    said = {"start_at": "2 h", "reason": "quiet hours"}
    return at("console:schedule_operation", plan().pk), said, Act.ALTER


def narrow(_: Client) -> Case:
    return at("console:narrow", plan().pk), {"messages": 1}, Act.ALTER


def ceiling() -> Operation:
    """A plan from which what was resubmitted before is left out."""
    operation = plan()
    operation.items.update(status=OperationItem.Status.LEFT_OUT)
    return operation


def take_in(_: Client) -> Case:
    return at("console:take_in", ceiling().pk), WHY, Act.ALTER


def back_out_unit(_: Client) -> Case:
    make_queue()
    put_many(make_messages(1))
    work = UnitOfWork(actor="shop.handle")
    work.get("orders")
    return (
        at("console:back_out_unit", work.id),
        WHY | {"uow": work.id},
        Act.BACK_OUT_UNIT,
    )


def on_group(name: str, **fields: str) -> Callable[[Client], Case]:
    return lambda _: (at(name, letter().fingerprint), fields, Act.SAY)


def ruled() -> None:
    make_places()
    rules.save("DLQ", RULES, planner())


def rule_table(_: Client) -> Case:
    make_places()
    said = {"text": RULES, "revision": 0, "deed": "save"}
    return at("console:rule_table", "DLQ"), said, Act.WRITE_RULES


def switch_rules(_: Client) -> Case:
    ruled()
    return at("console:switch_rules", "DLQ"), {"mode": "observe"}, Act.SWITCH_RULES


def put_recurring(_: Client) -> Case:
    make_queue()
    one = make_recurring()
    return at("console:put_recurring", one.name), {}, Act.PUT_RECURRING


PAGES: dict[str, Callable[[Client], Case]] = {
    **AGAIN,
    **OWN,
    **BRIDGES,
    **ALERTS,
    **SENDING,
    "console:pause": pause,
    "console:resume": resume,
    "console:put_recurring": put_recurring,
    "console:reset_counters": reset_counters,
    "console:new_queue": new_queue,
    "console:order": order,
    "console:order_letters": order_letters,
    "console:plan_resubmit": plan_letters,
    "console:start": start,
    "console:approve": approve,
    "console:explain": explain,
    "console:cancel": cancel,
    "console:undo": undo,
    "console:restore": restore,
    "console:unmask": unmask,
    "console:start_delivery": start_delivery,
    "console:close_connection": close_connection,
    "console:close_endpoint": close_endpoint,
    "console:create_credential": create_credential,
    "console:revoke_credential": revoke_credential,
    "console:commit_prepared": commit_prepared,
    "console:back_out_prepared": back_out_prepared,
    "console:order_found": order_found,
    "console:edit": edit,
    "console:repair": repair,
    "console:pause_operation": pause_operation,
    "console:carry_on": carry_on,
    "console:pace": pace,
    "console:schedule_operation": schedule_operation,
    "console:narrow": narrow,
    "console:take_in": take_in,
    "console:back_out_unit": back_out_unit,
    "console:acknowledge_group": on_group("console:acknowledge_group"),
    "console:snooze_group": on_group("console:snooze_group", until="1 h"),
    "console:reopen_group": on_group("console:reopen_group"),
    "console:describe_group": on_group("console:describe_group", note="known"),
    "console:rule_table": rule_table,
    "console:switch_rules": switch_rules,
    "dashboards:run": run,
    "dashboards:cancel": cancel_run,
}
