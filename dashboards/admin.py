"""Schedules of reports under Settings, in a project with django-celery-beat."""

from __future__ import annotations

from django.apps import apps

if apps.is_installed("django_celery_beat"):
    from dashboards.pages import schedules_admin  # noqa: F401
