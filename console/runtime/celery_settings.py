"""Settings of Celery and its workers.

Tasks contain ids only, and may run twice or never, so no task is acknowledged late or
retried, and no result is stored.
"""

from __future__ import annotations

from typing import Any

CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_STORE_ERRORS_EVEN_IF_IGNORED = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_TIMEZONE = "UTC"
CELERY_TASK_DEFAULT_QUEUE = "housekeeping"
# Tasks that must run on time have a worker of their own: no other task may delay them.
CELERY_TASK_ROUTES = {
    "dashboards.tasks.run_report": {"queue": "reports"},
    "broker.tasks.send_due": {"queue": "deadlines"},
    "broker.tasks.release_due": {"queue": "deadlines"},
    "broker.tasks.resume_paused": {"queue": "deadlines"},
    "broker.tasks.put_recurring": {"queue": "deadlines"},
    "broker.tasks.expire": {"queue": "deadlines"},
    "broker.tasks.back_out_overdue": {"queue": "deadlines"},
    "broker.tasks.fold_journal": {"queue": "deadlines"},
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 5,
    "socket_connect_timeout": 5,
    "max_retries": 1,  # so that a page that requests a report hardly waits for Redis
    "interval_start": 0,
    "interval_step": 0,
}


def defaults(redis_url: str) -> dict[str, Any]:
    """All settings above, by Celery's names, with the URL of its server."""
    prefix = "CELERY_"
    found = {
        name.removeprefix(prefix).lower(): value
        for name, value in globals().items()
        if name.startswith(prefix)
    }
    return {**found, "broker_url": redis_url.replace("unix://", "redis+socket://")}
