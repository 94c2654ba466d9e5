"""The entries of the navigation, in their order."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop


@dataclass(frozen=True, slots=True)
class Destination:
    """An entry of the navigation, shown to users with its permission."""

    name: str
    icon: str
    view: str
    permission: str
    key: str = ""  # shortcut key after g
    views: tuple[str, ...] = ()  # views that belong to this entry
    subjects: tuple[str, ...] = ()  # modules of acts on what the page lists
    counts_groups: bool = False
    counts_findings: bool = False
    counts_failed: bool = False  # show the number of failed links
    counts_alerts: bool = False  # show how many causes need somebody now
    rest_of: str = ""  # a namespace whose views all belong to this entry
    url: str = ""
    is_here: bool = False

    def has(self, view: str) -> bool:
        """Whether a view belongs to this entry."""
        namespace = view.partition(":")[0]
        return view in (self.view, *self.views) or namespace == self.rest_of != ""


DESTINATIONS = (
    Destination(
        gettext_noop("Overview"),
        "overview",
        "console:overview",
        "broker.view_queue",
        key="o",
    ),
    Destination(
        gettext_noop("Alerts"),
        "alerts",
        "console:alerts",
        "broker.view_queue",
        key="e",
        subjects=("alerts",),
        views=(
            "console:alert",
            "console:acknowledge_alert",
            "console:acknowledge_alerts",
            "console:silence_alert",
        ),
        counts_alerts=True,
    ),
    Destination(
        gettext_noop("Queues"),
        "queues",
        "console:queues",
        "broker.view_queue",
        key="q",
        subjects=("queues",),
        views=(
            "console:queue",
            "console:message",
            "console:new_queue",
            "console:order",
            "console:pause",
            "console:resume",
            "console:reset_counters",
            "console:send",
            "console:import_messages",
            "console:connect",
        ),
    ),
    Destination(
        gettext_noop("Topology"),
        "topology",
        "console:topology",
        "broker.view_queue",
        key="y",
    ),
    Destination(
        gettext_noop("Messages"),
        "messages",
        "console:messages",
        "broker.view_queue",
        key="m",
        views=("console:order_found", "console:edit_view", "console:by_client_id"),
        subjects=("messages",),
    ),
    Destination(
        gettext_noop("Dead letters"),
        "dead",
        "console:dead_letters",
        "broker.view_queue",
        key="d",
        subjects=("groups", "rules"),
        views=(
            "console:dead_letter_group",
            "console:order_letters",
            "console:acknowledge_group",
            "console:snooze_group",
            "console:reopen_group",
            "console:describe_group",
            "console:rules",
            "console:rule_table",
            "console:switch_rules",
        ),
        counts_groups=True,
    ),
    Destination(
        gettext_noop("Discard bin"),
        "discards",
        "console:discards",
        "broker.view_queue",
        key="b",
        subjects=("discards",),
        views=("console:restore",),
    ),
    Destination(
        gettext_noop("Scheduled"),
        "delayed",
        "console:scheduled",
        "broker.view_queue",
        key="s",
        subjects=("recurring",),
        views=("console:recurring",),
    ),
    Destination(
        gettext_noop("Tasks"),
        "success",
        "console:tasks",
        "broker.view_queue",
        key="t",
    ),
    Destination(
        gettext_noop("Units of work"),
        "in-flight",
        "console:units",
        "broker.view_queue",
        key="u",
        subjects=("units_of_work",),
        views=("console:unit", "console:back_out_unit"),
    ),
    Destination(
        gettext_noop("Consumers"),
        "consumers",
        "console:consumers",
        "broker.view_queue",
        key="c",
        views=("console:start_delivery",),
    ),
    Destination(
        gettext_noop("Connections"),
        "connections",
        "console:connections",
        "broker.view_queue",
        key="n",
        subjects=("connections",),
        views=(
            "console:connection",
            "console:close_connection",
            "console:close_endpoint",
        ),
    ),
    Destination(
        gettext_noop("Bridges"),
        "bridges",
        "console:bridges",
        "broker.view_link",
        key="l",
        subjects=("bridges",),
        views=(
            "console:link",
            "console:new_link",
            *(f"console:{one}_link" for one in ("start", "pause", "resume", "stop")),
            "console:commit_branch",
            "console:roll_back_branch",
        ),
        counts_failed=True,
    ),
    Destination(
        gettext_noop("Credentials"),
        "credentials",
        "console:credentials",
        "broker.view_credential",
        key="k",
        subjects=("credentials",),
        views=("console:create_credential", "console:revoke_credential"),
    ),
    Destination(
        gettext_noop("Operations"),
        "operations",
        "console:operations",
        "broker.view_queue",
        key="p",
        subjects=("operations",),
        views=("console:operation",),
    ),
    Destination(
        gettext_noop("Health"),
        "health",
        "console:health",
        "broker.view_queue",
        key="h",
        views=("console:commit_prepared", "console:back_out_prepared"),
        counts_findings=True,
    ),
    Destination(
        gettext_noop("Reports"),
        "reports",
        "dashboards:reports",
        "dashboards.view_report",
        key="r",
        views=("dashboards:report",),
        subjects=("dashboards",),
    ),
    Destination(
        gettext_noop("Audit"),
        "audit",
        "console:audit",
        "broker.view_auditrecord",
        key="a",
        views=("console:audit_record",),
    ),
    Destination(
        gettext_noop("Settings"),
        "settings",
        "console_settings:index",
        "",
        views=("console:effective",),
        rest_of="console_settings",
    ),
)
