"""Groups of subcommands: what each is called, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from typing import Any

from django_typer.management import TyperCommand

from broker.acts import DeclaredAct
from broker.acts.alerts import (
    acknowledge_alert,
    acknowledge_alerts,
    end_alert_silence,
    send_test_notification,
    silence_alerts,
)
from broker.acts.bridges import (
    commit_link_branch,
    pause_link,
    resubmit_through_link,
    resume_link,
    roll_back_link_branch,
    start_link,
    stop_link,
)
from broker.acts.connections import close_connection, close_endpoint
from broker.acts.credentials import create_credential, revoke_credential
from broker.acts.discards import restore_messages
from broker.acts.groups import (
    acknowledge_group,
    describe_group,
    reopen_group,
    snooze_group,
)
from broker.acts.messages import edit_message
from broker.acts.operations.control import (
    cancel_operation,
    continue_operation,
    pace_operation,
    pause_operation,
    schedule_operation,
    start_operation,
    undo_operation,
)
from broker.acts.operations.patches import drop_patch, set_patch
from broker.acts.operations.planning import plan_operation
from broker.acts.operations.plans import (
    approve_operation,
    explain_operation,
    narrow_operation,
    plan_again,
    plan_rest,
    take_in_messages,
)
from broker.acts.operations.resubmits import plan_resubmit
from broker.acts.queues import start_delivery
from broker.acts.recurring import put_recurring_message
from broker.acts.rules import save_rules, switch_rules
from broker.acts.units_of_work import (
    back_out_prepared_unit,
    back_out_unit_of_work,
    commit_prepared_unit,
)
from console.accounts.queries import list_credentials, read_rights
from console.alerts import queries as alerts
from console.audit.records import list_records
from console.bridges.cli import bridges
from console.bridges.queries import (
    list_link_branches,
    read_bridge,
    read_link,
    read_link_history,
)
from console.consumers.queries import connections, consumers, units_of_work
from console.dead_letters.queries import discards, letters, rules
from console.edges.commands.acts import subcommand
from console.edges.commands.queries import query_command
from console.edges.queries import DeclaredQuery
from console.home.queries import list_problems, read_health
from console.messages.acts import change_view, delete_view, save_view
from console.messages.cli import edits
from console.messages.queries import browsing, detail, finding, queues, scheduled, tasks
from console.operations import queries as operations
from console.queues.queries import read_counters, read_history, read_total_history
from console.topology.queries import read_topology
from dashboards.acts import cancel_run, run_report

Run = Callable[..., None] | DeclaredAct | DeclaredQuery
ALONE: Mapping[str, Run] = {  # commands of no group
    "problems": list_problems,
    "health": read_health,
    "rights": read_rights,
    "queues": queues.list_queues,
    "topology": read_topology,
    "browse": browsing.browse_queue,
    "find": finding.find_messages,
    "count": finding.count_messages,
}
GROUPS: Mapping[str, tuple[str, Mapping[str, Run]]] = {  # by name: help, subcommands
    "alert": (
        "Alerts and silences.",
        {
            "list": alerts.list_alerts,
            "show": alerts.read_alert,
            "acknowledge": acknowledge_alert,
            "acknowledge-all": acknowledge_alerts,
            "silence": silence_alerts,
            "silences": alerts.list_silences,
            "end-silence": end_alert_silence,
            "test": send_test_notification,
        },
    ),
    "audit": ("What people did.", {"list": list_records}),
    "bridge": (
        "Bridges and their links.",
        {
            "list": bridges.list_links,
            "status": read_bridge,
            "start": bridges.order_of(
                start_link,
                "Start a link, or all enabled links of a bridge; paused links are"
                " resumed.",
            ),
            "pause": bridges.order_of(
                pause_link, "Pause a link, or all running links of a bridge."
            ),
            "resume": bridges.order_of(
                resume_link, "Resume a link, or all paused links of a bridge."
            ),
            "stop": bridges.order_of(
                stop_link, "Stop a link, or all started links of a bridge."
            ),
            "export": bridges.export_bridge,
            "import": bridges.import_bridge,
            "rekey": bridges.rekey,
        },
    ),
    "connection": (
        "Clients of the listener.",
        {
            "list": connections.list_connections,
            "show": connections.read_connection,
            "close": close_connection,
            "close-endpoint": close_endpoint,
        },
    ),
    "consumer": (
        "ConnectionConsumers, and delivery that has stopped.",
        {"list": consumers.list_consumers, "start": start_delivery},
    ),
    "credential": (
        "Credentials of applications.",
        {
            "list": list_credentials,
            "create": create_credential,
            "revoke": revoke_credential,
        },
    ),
    "dead-letter": ("Dead letters, one by one.", {"list": letters.list_letters}),
    "dead-letter-group": (
        "Groups of dead letters with one error.",
        {
            "list": letters.list_groups,
            "show": letters.read_group,
            "acknowledge": acknowledge_group,
            "snooze": snooze_group,
            "reopen": reopen_group,
            "describe": describe_group,
        },
    ),
    "discard": (
        "The discard bin.",
        {"list": discards.list_discards, "restore": restore_messages},
    ),
    "history": (
        "What queues did over time.",
        {
            "queue": read_history,
            "total": read_total_history,
            "counters": read_counters,
        },
    ),
    "link": (
        "One link, and what it could not carry.",
        {
            "start": start_link,
            "pause": pause_link,
            "resume": resume_link,
            "stop": stop_link,
            "status": read_link,
            "history": read_link_history,
            "branches": list_link_branches,
            "commit": commit_link_branch,
            "roll-back": roll_back_link_branch,
            "resubmit": resubmit_through_link,
        },
    ),
    "message": (
        "One message.",
        {
            "show": detail.read_message,
            "explain": detail.explain_message,
            "related": detail.list_related_messages,
            "edit": edit_message,
        },
    ),
    "operation": (
        "Operations: plan, start, control, undo.",
        {
            "list": operations.list_operations,
            "show": operations.read_operation,
            "items": operations.read_items,
            "preview": operations.read_preview,
            "plan": plan_operation,
            "resubmit": plan_resubmit,
            "start": start_operation,
            "schedule": schedule_operation,
            "approve": approve_operation,
            "explain": explain_operation,
            "cancel": cancel_operation,
            "undo": undo_operation,
            "pause": pause_operation,
            "continue": continue_operation,
            "pace": pace_operation,
            "narrow": narrow_operation,
            "take-in": take_in_messages,
            "rest": plan_rest,
            "again": plan_again,
            "repair": set_patch,
            "drop-patch": drop_patch,
        },
    ),
    "prepared": (
        "Prepared units of work, decided in place of their coordinator.",
        {
            "list": units_of_work.list_prepared_units,
            "commit": commit_prepared_unit,
            "back-out": back_out_prepared_unit,
        },
    ),
    "queue": ("Queues.", {"status": queues.read_queue}),
    "recurring": (
        "Recurring messages.",
        {"list": scheduled.list_recurring, "put": put_recurring_message},
    ),
    "report": ("Runs of reports.", {"run": run_report, "cancel": cancel_run}),
    "rules": (
        "Rules for the dead letters of a queue.",
        {
            "list": rules.list_rules,
            "show": rules.read_rules,
            "preview": rules.preview_rules,
            "passes": rules.read_passes,
            "save": save_rules,
            "switch": switch_rules,
        },
    ),
    "scheduled": ("Delayed messages.", {"list": scheduled.list_scheduled}),
    "task": ("Tasks of Django and Celery.", {"list": tasks.list_tasks}),
    "view": (
        "Saved views of one's own.",
        {"save": save_view, "change": change_view, "delete": delete_view},
    ),
    "uow": (
        "Open units of work.",
        {
            "list": units_of_work.list_units_of_work,
            "show": units_of_work.read_unit_of_work,
            "back-out": back_out_unit_of_work,
        },
    ),
}

PREVIEWS = {"edit_message": edits.preview}  # previews by the name of the act


def add_all(into: type[TyperCommand], kinds: Mapping[str, Any]) -> None:
    """Add the groups to a command; those of kinds of objects get more subcommands."""
    for name, run in ALONE.items():
        into.command(name=name)(method_of(run))
    for name, (words, runs) in GROUPS.items():

        def start(self: Any) -> None:
            pass

        start.__name__ = f"group_{name}"
        # so that typer takes ``self`` for no option
        start.__annotations__ = {}
        made = kinds.get(name) or into.group(name=name, help=words)(start)
        for word, run in runs.items():
            made.command(name=word)(method_of(run))


def method_of(run: Run) -> Callable[..., None]:
    """A subcommand as a method of the command."""
    if isinstance(run, DeclaredAct):
        return subcommand(run, PREVIEWS.get(run.name))
    return query_command(run) if isinstance(run, DeclaredQuery) else as_method(run)


def as_method(run: Callable[..., None]) -> Callable[..., None]:
    """A function of a module as a subcommand: typer reads no annotation of ``self``."""
    run.__annotations__.pop("self")
    first, *rest = signature(run, eval_str=True).parameters.values()
    parameters = (first.replace(annotation=Parameter.empty), *rest)
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run
