"""The pages of reports; there is one for each, under its slug."""

from __future__ import annotations

from django.urls import path

from dashboards.pages import views

app_name = "dashboards"
urlpatterns = [
    path("", views.reports, name="reports"),
    path("<slug:slug>/", views.report, name="report"),
    path("<slug:slug>/run/", views.run, name="run"),
    path("<slug:slug>/export/", views.export, name="export"),
    path("<slug:slug>/runs/<int:run_id>/cancel/", views.cancel, name="cancel"),
]
