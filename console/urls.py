"""URLs of the console, for any prefix: ``path("ops/", include("console.urls"))``."""

from __future__ import annotations

from django.contrib.auth import views as accounts
from django.db import transaction
from django.urls import URLPattern, URLResolver, include, path, register_converter
from django.views.generic import RedirectView

from console import api
from console.accounts.pages import credentials, own_permissions
from console.accounts.password_change import CountedPasswordChangeView
from console.accounts.private_answers import SignOutView
from console.accounts.sign_in import SignInView
from console.alerts import pages as alerts
from console.audit import pages as audit
from console.bridges import live  # noqa: F401  its topics
from console.bridges import pages as bridges
from console.configuration import pages as effective_settings
from console.configuration import site as settings_site
from console.consumers.pages import connections, consumers, prepared, units_of_work
from console.dead_letters.pages import dead_letter_list, discards, groups, rules
from console.edges.web.converters import QueueName, TextConverter
from console.home.pages import health, preferences, probes
from console.home.pages import overview as home
from console.home.pages import palette as go_to
from console.messages.pages import (
    comparing,
    copies,
    detail,
    edit,
    importing,
    recurring,
    saved_views,
    scheduled,
    search,
    send,
    tasks,
)
from console.operations import live_progress  # noqa: F401  its topics
from console.operations.pages import operations, order, patches, schedule
from console.queues.pages import connect, counters, history, new_queue, pausing
from console.queues.pages import queues as queue_pages
from console.reference import views as reference
from console.topology import pages as topology

settings_site.take_over()
register_converter(QueueName, "queue")
register_converter(TextConverter, "text")

LINK = "bridges/<queue:bridge>/<queue:link>/"
BRANCH = f"{LINK}branches/<queue:xid>/"

pages: list[URLPattern | URLResolver] = [
    path("", home.overview, name="overview"),
    path("overview/", RedirectView.as_view(pattern_name="console:overview")),
    path("depths/", queue_pages.depths, name="depths"),
    path("history/", history.history, name="history"),
    path("queues/", queue_pages.queues, name="queues"),
    path("topology/", topology.topology, name="topology"),
    path("new-queue/", new_queue.new_queue, name="new_queue"),
    path("queues/<queue:name>/", queue_pages.queue, name="queue"),
    path("queues/<queue:name>/pause/", pausing.pause, name="pause"),
    path("queues/<queue:name>/resume/", pausing.resume, name="resume"),
    path("queues/<queue:name>/counters/reset/", counters.reset, name="reset_counters"),
    path("queues/<queue:name>/connect/", connect.connect, name="connect"),
    path("queues/<queue:name>/send/", send.send, name="send"),
    path(
        "queues/<queue:name>/import/",
        importing.import_messages,
        name="import_messages",
    ),
    path("queues/<queue:name>/order/", order.order, name="order"),
    path("messages/", search.messages, name="messages"),
    path("messages/completions/", search.complete, name="complete"),
    path("messages/export/", search.export, name="export"),
    path("messages/order/", order.order_found, name="order_found"),
    path("messages/<int:message_id>/", detail.message, name="message"),
    path("messages/<int:message_id>/compare/", comparing.compare, name="compare"),
    path("messages/<int:message_id>/edit/", edit.edit, name="edit"),
    path("messages/<int:message_id>/unmask/", detail.unmask, name="unmask"),
    path("messages/<int:message_id>/body/", detail.body, name="body"),
    path("messages/<int:message_id>/data/", detail.data, name="data"),
    path("m/<text:client_message_id>/", copies.by_client_id, name="by_client_id"),
    path("views/", saved_views.save, name="save_view"),
    path("views/<slug:slug>/", saved_views.view, name="view"),
    path("views/<slug:slug>/change/", saved_views.edit, name="edit_view"),
    path("views/<slug:slug>/delete/", saved_views.delete, name="delete_view"),
    path("dead/", dead_letter_list.dead_letters, name="dead_letters"),
    path("dead/resubmit/", order.plan_resubmit, name="plan_resubmit"),
    path("dead/order/", order.order_letters, name="order_letters"),
    path("dead/rules/", rules.rules, name="rules"),
    path("dead/rules/<queue:name>/", rules.rule_table, name="rule_table"),
    path("dead/rules/<queue:name>/mode/", rules.switch, name="switch_rules"),
    path("dead/rules/<queue:name>/export/", rules.export, name="export_rules"),
    path(
        "dead/<slug:fingerprint>/",
        dead_letter_list.dead_letter_group,
        name="dead_letter_group",
    ),
    path(
        "dead/<slug:fingerprint>/acknowledge/",
        groups.acknowledge,
        name="acknowledge_group",
    ),
    path("dead/<slug:fingerprint>/snooze/", groups.snooze, name="snooze_group"),
    path("dead/<slug:fingerprint>/reopen/", groups.reopen, name="reopen_group"),
    path("dead/<slug:fingerprint>/describe/", groups.describe, name="describe_group"),
    path(
        "dead/<slug:fingerprint>/silence/", alerts.silence_cause, name="silence_cause"
    ),
    path("alerts/", alerts.alerts, name="alerts"),
    path("alerts/acknowledge/", alerts.acknowledge_several, name="acknowledge_alerts"),
    path("alerts/<int:alert_id>/", alerts.alert, name="alert"),
    path(
        "alerts/<int:alert_id>/acknowledge/",
        alerts.acknowledge,
        name="acknowledge_alert",
    ),
    path("alerts/<int:alert_id>/silence/", alerts.silence, name="silence_alert"),
    path(
        "alerts/silences/<int:silence_id>/end/", alerts.end_silence, name="end_silence"
    ),
    path(
        "alerts/targets/<queue:alert_target>/test/",
        alerts.send_test,
        name="send_test",
    ),
    path("discards/", discards.discards, name="discards"),
    path("discards/restore/", discards.restore, name="restore"),
    path("bridges/", bridges.bridges, name="bridges"),
    path("new-link/", bridges.new_link, name="new_link"),
    path(LINK, bridges.link, name="link"),
    path(f"{LINK}start/", bridges.start, name="start_link"),
    path(f"{LINK}pause/", bridges.pause, name="pause_link"),
    path(f"{LINK}resume/", bridges.resume, name="resume_link"),
    path(f"{LINK}stop/", bridges.stop, name="stop_link"),
    path(f"{LINK}resubmit/", bridges.resubmit_through, name="resubmit_through_link"),
    path(f"{BRANCH}commit/", bridges.commit_branch, name="commit_branch"),
    path(f"{BRANCH}roll-back/", bridges.roll_back_branch, name="roll_back_branch"),
    path("consumers/", consumers.consumers, name="consumers"),
    path("consumers/<queue:name>/start/", consumers.start, name="start_delivery"),
    path("connections/", connections.connections, name="connections"),
    path("connections/<int:connection_id>/", connections.connection, name="connection"),
    path(
        "connections/<int:connection_id>/close/",
        connections.close_one,
        name="close_connection",
    ),
    path(
        "connections/<int:connection_id>/endpoints/<int:endpoint_id>/close/",
        connections.close_end,
        name="close_endpoint",
    ),
    path("credentials/", credentials.credentials, name="credentials"),
    path("credentials/new/", credentials.create, name="create_credential"),
    path(
        "credentials/<queue:credential>/revoke/",
        credentials.revoke,
        name="revoke_credential",
    ),
    path("settings/effective/", effective_settings.settings, name="effective"),
    path("health/", health.health, name="health"),
    path("health/prepared/<int:uow>/commit/", prepared.commit, name="commit_prepared"),
    path(
        "health/prepared/<int:uow>/back-out/",
        prepared.back_out,
        name="back_out_prepared",
    ),
    path("operations/", operations.operations, name="operations"),
    path("operations/<int:operation_id>/", operations.operation, name="operation"),
    path("operations/<int:operation_id>/start/", operations.start, name="start"),
    path(
        "operations/<int:operation_id>/schedule/",
        schedule.schedule,
        name="schedule_operation",
    ),
    path("operations/<int:operation_id>/approve/", schedule.approve, name="approve"),
    path("operations/<int:operation_id>/explain/", schedule.explain, name="explain"),
    path("operations/<int:operation_id>/cancel/", operations.cancel, name="cancel"),
    path("operations/<int:operation_id>/repair/", patches.repair, name="repair"),
    path("operations/<int:operation_id>/rest/", patches.rest, name="rest"),
    path("operations/<int:operation_id>/undo/", schedule.undo, name="undo"),
    path("operations/<int:operation_id>/again/", patches.again, name="again"),
    path("audit/", audit.audit, name="audit"),
    path("audit/export/", audit.export, name="audit_export"),
    path("audit/<int:record_id>/", audit.record, name="audit_record"),
    path(
        "operations/<int:operation_id>/pause/", schedule.pause, name="pause_operation"
    ),
    path("operations/<int:operation_id>/continue/", schedule.carry_on, name="carry_on"),
    path("operations/<int:operation_id>/pace/", schedule.pace, name="pace"),
    path("operations/<int:operation_id>/narrow/", schedule.narrow, name="narrow"),
    path("operations/<int:operation_id>/ceiling/", schedule.take_in, name="take_in"),
    path("tasks/", tasks.tasks, name="tasks"),
    path("scheduled/", scheduled.scheduled, name="scheduled"),
    path("scheduled/recurring/", recurring.recurring, name="recurring"),
    path(
        "scheduled/recurring/<queue:recurring>/put/",
        recurring.put_recurring,
        name="put_recurring",
    ),
    path("uow/", units_of_work.units, name="units"),
    path("uow/<int:uow>/", units_of_work.unit, name="unit"),
    path("uow/<int:uow>/back-out/", units_of_work.back_out, name="back_out_unit"),
    path("api/docs/", reference.parts, name="api_reference"),
    path("api/docs/<slug:slug>/", reference.part, name="api_part"),
    path("go/", go_to.go, name="go"),
    path("rights/", own_permissions.rights, name="rights"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("preferences/theme/", preferences.theme, name="theme"),
    path("preferences/density/", preferences.density, name="density"),
    path("preferences/refresh/", preferences.refresh, name="refresh"),
    path("preferences/language/", preferences.language, name="language"),
    path("preferences/times/", preferences.times, name="times"),
    path("preferences/queue-columns/", preferences.queue_columns, name="queue_columns"),
    path("preferences/own-columns/", preferences.own_columns, name="own_columns"),
    path("preferences/zone/", preferences.zone, name="zone"),
    path("preferences/sessions/", preferences.end_session, name="end_session"),
    path("accounts/logout/", SignOutView.as_view(), name="logout"),
    path(
        "accounts/password/",
        transaction.atomic(CountedPasswordChangeView.as_view()),
        name="password_change",
    ),
    path(
        "accounts/password/done/",
        accounts.PasswordChangeDoneView.as_view(
            template_name="console/accounts/password_change_done.html"
        ),
        name="password_change_done",
    ),
    path("healthz", probes.alive, name="alive"),
    path("readyz", probes.ready, name="ready"),
    path("metrics", probes.numbers, name="metrics"),
]

# The console's own sign-in, where the project has none.
own_sign_in = [path("accounts/login/", SignInView.as_view(), name="login")]
rest: list[URLPattern | URLResolver] = [
    path("reports/", include("dashboards.urls")),
    path("api/v1/", include((api.urls(), "ninja"), namespace="backout_api")),
    path("admin/", settings_site.site.urls),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(([*pages, *own_sign_in], "console"))),
    *rest,
]
