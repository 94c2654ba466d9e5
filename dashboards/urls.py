"""The pages of reports; each report has one of its own, under its slug."""

from __future__ import annotations

from django.urls import path

from dashboards import views

app_name = "dashboards"
urlpatterns = [
    path("", views.reports, name="reports"),
    path("dead-letters/", views.dead_letters, {"slug": "dead-letters"}, name="report"),
    path("<slug:slug>/run/", views.run, name="run"),
]
