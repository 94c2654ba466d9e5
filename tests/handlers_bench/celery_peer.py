"""The same handlers as tasks of Celery, on the broker that ``BENCH_CELERY`` names."""

from __future__ import annotations

import os

import django
from celery import Celery

from tests.handlers_bench.work import note, write_a_row

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.handlers_bench.settings")
app = Celery("bench", broker=os.environ["BENCH_CELERY"], set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    task_default_queue="backout_bench_tasks",
    broker_connection_retry_on_startup=True,
)


@app.on_after_configure.connect
def set_up(**_: object) -> None:
    django.setup()


@app.task(name="early")
def early(sent: str) -> None:
    note(sent)


@app.task(name="late", acks_late=True)
def late(sent: str) -> None:
    note(sent)


@app.task(name="row", acks_late=True)
def row(sent: str) -> None:
    write_a_row(sent)
    note(sent)
