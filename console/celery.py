"""The console's own Celery application: housekeeping and reports.

A project has it by ``BACKOUT_CELERY_APP = "console"``. What it sets itself as
``CELERY_…`` counts.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from django.conf import settings

from broker.config import django_settings
from console.runtime import celery_settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
# Celery ignores the result of Django's checks, and they would load all pages.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
app = Celery("console")
app.config_from_object("django.conf:settings", namespace="CELERY")


def of_project() -> dict[str, Any]:
    """Settings that the project lacks. Celery may ask before Django has loaded."""
    django_settings.complete(settings, os.environ)
    return celery_settings.defaults(settings.REDIS_URL)


app.add_defaults(of_project)
app.autodiscover_tasks()
