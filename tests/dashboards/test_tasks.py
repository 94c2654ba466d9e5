"""Celery finds tasks by the names that schedules, settings and the code have."""

from __future__ import annotations

import json
import subprocess
import sys

from django.conf import settings
from django_celery_beat.models import PeriodicTask

from broker.tasks import DUE
from console.celery import app
from dashboards.pages import schedules
from dashboards.pipeline import runs

WORKER = """
import django, json
django.setup()
from console.celery import app
app.loader.import_default_modules()
print(json.dumps(sorted(app.tasks)))
"""


def test_a_worker_knows_each_task_by_the_name_that_others_call(db: None) -> None:
    """In a process of its own: what others import, a worker may not."""
    app.loader.import_default_modules()
    called = {
        *PeriodicTask.objects.values_list("task", flat=True),
        *(task.name for task, _ in DUE),
        *app.conf.task_routes,
        runs.TASK,
        schedules.TASK,
    }
    known = subprocess.run(
        [sys.executable, "-c", WORKER],
        capture_output=True,
        text=True,
        check=True,
        cwd=settings.BASE_DIR,
    ).stdout

    assert called <= set(json.loads(known))
    ours = {name for name in json.loads(known) if name.startswith("dashboards.")}
    assert ours == {name for name in called if name.startswith("dashboards.")}
    assert "dashboards.live.publish_depths" in ours
