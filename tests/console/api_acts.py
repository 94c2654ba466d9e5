"""The same as ``acts``, through the API."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.test import Client
from django.utils import timezone

from broker import operations
from broker.models import Act, AddressSetting
from dashboards.models import ReportRun
from tests.console.acts import (
    NEW,
    RULES,
    WHY,
    ceiling,
    done,
    letter,
    plan,
    ruled,
    running,
    waiting,
)
from tests.console.alerts.alert_acts import OPERATIONS as OF_ALERTS
from tests.console.bridges.api_bridge_acts import OPERATIONS as OF_BRIDGES
from tests.console.configuration.api_definition_acts import OPERATIONS as OF_DEFINITIONS
from tests.console.consumers.api_work_acts import OPERATIONS as OF_WORK
from tests.console.edges.wire import make_client, make_credential, make_endpoint
from tests.console.letters import make_places
from tests.console.own_acts import Case, planner, view
from tests.make import make_queue, make_setting

API = "/api/v1"


def api_pause(_: Client) -> Case:
    make_queue()
    return f"{API}/queues/orders/pause", WHY, Act.PAUSE


def api_resume(_: Client) -> Case:
    make_queue(paused=True)
    return f"{API}/queues/orders/resume", WHY, Act.RESUME


def api_import_settings(client: Client) -> Case:
    make_setting("orders", max_delivery_attempts=3)
    document = client.get(f"{API}/settings-document").json()["document"]
    AddressSetting.objects.all().delete()
    said = {"document": document, "apply": True}
    return f"{API}/settings-document", said, Act.CREATE


def api_plan(_: Client) -> Case:
    letter()
    said = {"kind": "resubmit", "filter": ["state:dead"]}
    return f"{API}/operations", said, Act.PLAN


def api_start(_: Client) -> Case:
    return f"{API}/operations/{plan().pk}/start", WHY, Act.START


def api_cancel(_: Client) -> Case:
    return f"{API}/operations/{plan().pk}/cancel", {}, Act.CANCEL


def api_undo(client: Client) -> Case:
    return f"{API}/operations/{done(client).pk}/undo", {}, Act.UNDO


def api_take_in(_: Client) -> Case:
    return f"{API}/operations/{ceiling().pk}/ceiling", WHY, Act.ALTER


def api_pause_operation(_: Client) -> Case:
    return f"{API}/operations/{running().pk}/pause", {}, Act.HALT


def api_continue(_: Client) -> Case:
    operation = running()
    operations.pause(operation.pk)
    return f"{API}/operations/{operation.pk}/continue", {}, Act.CARRY_ON


def api_pace(_: Client) -> Case:
    return f"{API}/operations/{running().pk}/pace", {"pace": 7}, Act.ALTER


def api_schedule(_: Client) -> Case:
    said = WHY | {"start_at": "2 h"}
    return f"{API}/operations/{plan().pk}/schedule", said, Act.ALTER


def api_plan_resubmit(_: Client) -> Case:
    letter()
    return f"{API}/resubmits", WHY | {"f": ["queue:DLQ"]}, Act.PLAN


def api_set_patch(_: Client) -> Case:
    said = {"body": {"merge": {"a": 1}}}
    return f"{API}/operations/{plan().pk}/patch", said, Act.ALTER


def api_drop_patch(_: Client) -> Case:
    return f"{API}/operations/{plan().pk}/patch", {}, Act.ALTER


def api_describe(_: Client) -> Case:
    url = f"{API}/dead-letter-groups/{letter().fingerprint}/description"
    return url, {"note": "known"}, Act.SAY


def api_acknowledge(_: Client) -> Case:
    return f"{API}/dead-letter-groups/{letter().fingerprint}/acknowledge", {}, Act.SAY


def api_snooze(_: Client) -> Case:
    until = timezone.now() + timedelta(hours=1)
    url = f"{API}/dead-letter-groups/{letter().fingerprint}/snooze"
    return url, {"until": until.isoformat()}, Act.SAY


def api_reopen(_: Client) -> Case:
    return f"{API}/dead-letter-groups/{letter().fingerprint}/reopen", {}, Act.SAY


def api_save_rules(_: Client) -> Case:
    make_places()
    url = f"{API}/queues/DLQ/dead-letter-rules"
    return url, {"text": RULES}, Act.WRITE_RULES


def api_switch_rules(_: Client) -> Case:
    ruled()
    url = f"{API}/queues/DLQ/dead-letter-rules/mode"
    return url, {"mode": "observe"}, Act.SWITCH_RULES


def api_approve(_: Client) -> Case:
    plan, seal = waiting()
    url = f"/api/v1/operations/{plan.pk}/approve"
    return url, WHY | {"seal": seal}, Act.APPROVE


def api_reset_counters(_: Client) -> Case:
    make_queue()
    return "/api/v1/queues/orders/counters/reset", {}, Act.RESET_COUNTERS


def api_close_connection(_: Client) -> Case:
    url = f"/api/v1/connections/{make_client().pk}/close"
    return url, WHY, Act.CLOSE_CONNECTION


def api_close_endpoint(_: Client) -> Case:
    one = make_client()
    url = f"/api/v1/connections/{one.pk}/endpoints/{make_endpoint(one).pk}/close"
    return url, WHY, Act.CLOSE_ENDPOINT


def api_create_credential(_: Client) -> Case:
    return "/api/v1/credentials", NEW, Act.CREATE_CREDENTIAL


def api_revoke_credential(_: Client) -> Case:
    made = make_credential(user=planner())
    return f"/api/v1/credentials/{made.name}/revoke", WHY, Act.REVOKE_CREDENTIAL


def api_run_report(_: Client) -> Case:
    return f"{API}/reports/dead-letters/runs", {}, Act.RUN_REPORT


def api_cancel_run(_: Client) -> Case:
    one = ReportRun.objects.create(report="dead-letters")
    return f"{API}/reports/dead-letters/runs/{one.pk}/cancel", {}, Act.CANCEL_REPORT


def api_save_view(_: Client) -> Case:
    return f"{API}/views", {"name": "All", "filter": ["state:dead"]}, Act.CREATE


def api_change_view(_: Client) -> Case:
    return f"{API}/views/{view()}", {"name": "Dead"}, Act.CHANGE


def api_delete_view(_: Client) -> Case:
    return f"{API}/views/{view()}", {}, Act.DELETE


OPERATIONS: dict[str, Callable[[Client], Case]] = {  # of the API, by id
    "approve_operation": api_approve,
    "run_report": api_run_report,
    "cancel_run": api_cancel_run,
    "reset_counters": api_reset_counters,
    "close_connection": api_close_connection,
    "close_endpoint": api_close_endpoint,
    "create_credential": api_create_credential,
    "revoke_credential": api_revoke_credential,
    "pause_queue": api_pause,
    "resume_queue": api_resume,
    "import_settings": api_import_settings,
    "plan_operation": api_plan,
    "start_operation": api_start,
    "schedule_operation": api_schedule,
    "cancel_operation": api_cancel,
    "undo_operation": api_undo,
    "take_in_messages": api_take_in,
    "pause_operation": api_pause_operation,
    "continue_operation": api_continue,
    "pace_operation": api_pace,
    "plan_resubmit": api_plan_resubmit,
    "set_patch": api_set_patch,
    "drop_patch": api_drop_patch,
    "describe_group": api_describe,
    "acknowledge_group": api_acknowledge,
    "snooze_group": api_snooze,
    "reopen_group": api_reopen,
    "save_rules": api_save_rules,
    "switch_rules": api_switch_rules,
    "save_view": api_save_view,
    "change_view": api_change_view,
    "delete_view": api_delete_view,
    **OF_ALERTS,
    **OF_BRIDGES,
    **OF_DEFINITIONS,
    **OF_WORK,
}
