"""Where everything is: the console at the root, settings under the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as accounts
from django.db import transaction
from django.urls import URLPattern, URLResolver, include, path, register_converter
from django.views.generic import RedirectView

from console import api
from console.converters import QueueName, Text
from console.sign_ins import SignInForm
from console.views import (
    approvals,
    audit,
    connections,
    consumers,
    counters,
    courses,
    credentials,
    dead_letters,
    discards,
    edits,
    effective,
    found,
    going,
    groups,
    health,
    incarnations,
    messages,
    operations,
    orders,
    overview,
    own_rights,
    patches,
    preferences,
    prepared,
    probes,
    queues,
    rules,
    saved_views,
    scheduled,
    units_of_work,
)

register_converter(QueueName, "queue")
register_converter(Text, "text")

LIST_OF_QUEUES = RedirectView.as_view(pattern_name="console:queues", query_string=True)

pages: list[URLPattern | URLResolver] = [
    path("", queues.queues, name="queues"),
    path("overview/", overview.overview, name="overview"),
    path("depths/", queues.depths, name="depths"),
    path(
        "queues/",
        RedirectView.as_view(pattern_name="console:queues", query_string=True),
    ),
    path("queues/<queue:name>/", queues.queue, name="queue"),
    path("queues/<queue:name>/pause/", queues.pause, name="pause"),
    path("queues/<queue:name>/resume/", queues.resume, name="resume"),
    path("queues/<queue:name>/counters/reset/", counters.reset, name="reset_counters"),
    path("queues/<queue:name>/order/", orders.order, name="order"),
    path("messages/", found.messages, name="messages"),
    path("messages/completions/", found.complete, name="complete"),
    path("messages/export/", found.export, name="export"),
    path("messages/order/", orders.order_found, name="order_found"),
    path("messages/<int:message_id>/", messages.message, name="message"),
    path("messages/<int:message_id>/edit/", edits.edit, name="edit"),
    path("messages/<int:message_id>/unmask/", messages.unmask, name="unmask"),
    path("messages/<int:message_id>/body/", messages.body, name="body"),
    path("messages/<int:message_id>/data/", messages.data, name="data"),
    path("m/<text:client_message_id>/", incarnations.by_client_id, name="by_client_id"),
    path("views/", saved_views.save, name="save_view"),
    path("views/<slug:slug>/", saved_views.view, name="view"),
    path("views/<slug:slug>/change/", saved_views.edit, name="edit_view"),
    path("views/<slug:slug>/delete/", saved_views.delete, name="delete_view"),
    path("dead/", dead_letters.dead_letters, name="dead_letters"),
    path("dead/resubmit/", orders.plan_resubmit, name="plan_resubmit"),
    path("dead/order/", orders.order_letters, name="order_letters"),
    path("dead/rules/", rules.rules, name="rules"),
    path("dead/rules/<queue:name>/", rules.rule_table, name="rule_table"),
    path("dead/rules/<queue:name>/mode/", rules.switch, name="switch_rules"),
    path("dead/rules/<queue:name>/export/", rules.export, name="export_rules"),
    path(
        "dead/<slug:fingerprint>/",
        dead_letters.dead_letter_group,
        name="dead_letter_group",
    ),
    path("dead/<slug:fingerprint>/say/", groups.say, name="say_of_group"),
    path("discards/", discards.discards, name="discards"),
    path("discards/restore/", discards.restore, name="restore"),
    path("consumers/", consumers.consumers, name="consumers"),
    path("consumers/<queue:name>/start/", consumers.start, name="start_delivery"),
    path("connections/", connections.connections, name="connections"),
    path("connections/<int:connection_id>/", connections.connection, name="connection"),
    path(
        "connections/<int:connection_id>/close/",
        connections.close_connection,
        name="close_connection",
    ),
    path(
        "connections/<int:connection_id>/endpoints/<int:endpoint_id>/close/",
        connections.close_endpoint,
        name="close_endpoint",
    ),
    path("credentials/", credentials.credentials, name="credentials"),
    path("credentials/new/", credentials.create, name="create_credential"),
    path(
        "credentials/<int:credential_id>/revoke/",
        credentials.revoke,
        name="revoke_credential",
    ),
    path("settings/effective/", effective.settings, name="effective"),
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
    path("operations/<int:operation_id>/approve/", approvals.approve, name="approve"),
    path("operations/<int:operation_id>/explain/", approvals.explain, name="explain"),
    path("operations/<int:operation_id>/cancel/", operations.cancel, name="cancel"),
    path("operations/<int:operation_id>/repair/", patches.repair, name="repair"),
    path("operations/<int:operation_id>/undo/", operations.undo, name="undo"),
    path("audit/", audit.audit, name="audit"),
    path("audit/export/", audit.export, name="audit_export"),
    path("audit/<int:record_id>/", audit.record, name="audit_record"),
    path("operations/<int:operation_id>/pause/", courses.pause, name="pause_operation"),
    path("operations/<int:operation_id>/continue/", courses.carry_on, name="carry_on"),
    path("operations/<int:operation_id>/pace/", courses.pace, name="pace"),
    path("operations/<int:operation_id>/narrow/", courses.narrow, name="narrow"),
    path("operations/<int:operation_id>/ceiling/", courses.take_in, name="take_in"),
    path("scheduled/", scheduled.scheduled, name="scheduled"),
    path("uow/", units_of_work.units, name="units"),
    path("uow/<int:uow>/", units_of_work.unit, name="unit"),
    path("uow/<int:uow>/back-out/", units_of_work.back_out, name="back_out_unit"),
    path("go/", going.go, name="go"),
    path("rights/", own_rights.rights, name="rights"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("preferences/theme/", preferences.theme, name="theme"),
    path("preferences/density/", preferences.density, name="density"),
    path("preferences/zone/", preferences.zone, name="zone"),
    path("preferences/sessions/", preferences.end_session, name="end_session"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include((pages, "console"))),
    path("healthz", probes.alive, name="alive"),
    path("readyz", probes.ready, name="ready"),
    path("metrics", probes.numbers, name="metrics"),
    path(
        "accounts/login/",
        accounts.LoginView.as_view(authentication_form=SignInForm),
        name="login",
    ),
    path("accounts/logout/", accounts.LogoutView.as_view(), name="logout"),
    path(
        "accounts/password/",
        transaction.atomic(accounts.PasswordChangeView.as_view()),
        name="password_change",
    ),
    path(
        "accounts/password/done/",
        accounts.PasswordChangeDoneView.as_view(),
        name="password_change_done",
    ),
    path("reports/", include("dashboards.urls")),
    path("api/v1/", include((api.urls(), "ninja"), namespace="api")),
    path("admin/", admin.site.urls),
]
