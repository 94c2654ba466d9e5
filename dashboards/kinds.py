"""Kinds of objects that the dashboards add to those of all doors."""

from __future__ import annotations

from django.apps import apps

from broker.declarations import register

if apps.is_installed("django_celery_beat"):
    from dashboards.pages.schedule_kind import SCHEDULE

    register(SCHEDULE)
