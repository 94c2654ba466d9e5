"""Settings of the dispatcher that is measured: the project's, and its handlers."""

from __future__ import annotations

from console.settings import *  # noqa: F403

INSTALLED_APPS += ["tests.handlers_bench", "django_tasks", "django_tasks_db"]  # noqa: F405
OURS = "broker.client.django_tasks.BackoutBackend"
TASKS = {
    "default": {"BACKEND": OURS, "QUEUES": ["tasks"]},
    "joined": {
        "BACKEND": OURS,
        "QUEUES": ["joined_tasks"],
        "OPTIONS": {"JOIN": True},
    },
    "db": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["tasks"]},
}
# Procrastinate writes a line of each job that is deferred, and Django's tasks two of
# each that is run; Celery's workers are told to write errors only.
QUIET = {"level": "WARNING"}
LOGGING = {
    **LOGGING,  # noqa: F405
    "loggers": {"procrastinate": QUIET, "django_tasks": QUIET},
}
