"""The Celery application: housekeeping and reports, no messages of the broker."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
# Celery does not look at the outcome of Django's checks, and they load all pages.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
app = Celery("console")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
