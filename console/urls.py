"""Where everything is: the console at the root, settings under the admin."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as accounts
from django.urls import URLPattern, URLResolver, include, path, register_converter

from console import api
from console.converters import QueueName
from console.views import (
    consumers,
    counters,
    dead_letters,
    discards,
    effective,
    health,
    messages,
    operations,
    orders,
    preferences,
    prepared,
    queues,
)

register_converter(QueueName, "queue")

pages: list[URLPattern | URLResolver] = [
    path("", queues.queues, name="queues"),
    path("depths/", queues.depths, name="depths"),
    path("queues/<queue:name>/", queues.queue, name="queue"),
    path("queues/<queue:name>/pause/", queues.pause, name="pause"),
    path("queues/<queue:name>/resume/", queues.resume, name="resume"),
    path("queues/<queue:name>/counters/reset/", counters.reset, name="reset_counters"),
    path("queues/<queue:name>/order/", orders.order, name="order"),
    path("messages/<int:message_id>/", messages.message, name="message"),
    path("messages/<int:message_id>/body/", messages.body, name="body"),
    path("messages/<int:message_id>/data/", messages.data, name="data"),
    path("dead/", dead_letters.dead_letters, name="dead_letters"),
    path("dead/resubmit/", orders.plan_resubmit, name="plan_resubmit"),
    path("dead/order/", orders.order_letters, name="order_letters"),
    path(
        "dead/<slug:fingerprint>/",
        dead_letters.dead_letter_group,
        name="dead_letter_group",
    ),
    path("discards/", discards.discards, name="discards"),
    path("discards/restore/", discards.restore, name="restore"),
    path("consumers/", consumers.consumers, name="consumers"),
    path("consumers/<queue:name>/start/", consumers.start, name="start_delivery"),
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
    path("operations/<int:operation_id>/cancel/", operations.cancel, name="cancel"),
    path("operations/<int:operation_id>/undo/", operations.undo, name="undo"),
    path("preferences/theme/", preferences.theme, name="theme"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include((pages, "console"))),
    path("accounts/login/", accounts.LoginView.as_view(), name="login"),
    path("accounts/logout/", accounts.LogoutView.as_view(), name="logout"),
    path(
        "accounts/password/",
        accounts.PasswordChangeView.as_view(),
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
