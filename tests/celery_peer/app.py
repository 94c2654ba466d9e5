"""An application of Celery whose broker is Backout, as a project has it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from celery import Celery, Task
from celery.exceptions import Reject

from tests.broker.breaking import BROKEN, SET
from tests.broker.odd_exceptions import MAKERS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
WAYS = BROKEN | SET
BROKER = os.environ.get("PEER_BROKER", "backout://")
app = Celery("peer", broker=BROKER, set_as_current=False)
app.conf.update(
    result_backend=os.environ.get("REDIS_URL", "").replace("unix:", "redis+socket:"),
    task_default_queue="peer",
    task_send_sent_event=True,
    broker_connection_retry_on_startup=True,
)


@app.task
def add(x: int, y: int) -> int:
    return x + y


@app.task(name="peer.give_nan")
def give_nan() -> float:
    return float("nan")


@app.task(name="peer.fail")
def fail(text: str) -> None:
    raise ValueError(text)


@app.task(name="peer.fail_late", acks_late=True)
def fail_late(text: str) -> None:
    raise ValueError(text)


@app.task(name="peer.odd")
def odd(name: str) -> None:
    raise MAKERS[name]()


@app.task(name="peer.odd_late", acks_late=True)
def odd_late(name: str) -> None:
    raise MAKERS[name]()


@app.task(name="peer.break_session", acks_late=True)
def break_session(way: str) -> None:
    WAYS[way]()
    raise ValueError(way)


@app.task(name="peer.slow", time_limit=1)
def slow() -> None:
    time.sleep(30)


@app.task(name="peer.slow_late", acks_late=True, time_limit=1)
def slow_late() -> None:
    time.sleep(30)


@app.task(name="peer.reject", acks_late=True)
def reject(text: str) -> None:
    raise Reject(text, requeue=False)


@app.task(name="peer.retry", bind=True, max_retries=1, default_retry_delay=0)
def retry(self: Task, text: str) -> None:
    raise self.retry(exc=ValueError(text))


@app.task(name="peer.note", acks_late=True)
def note(path: str, text: str, wait_s: float = 0) -> None:
    """Append a line to a file, then wait."""
    with Path(path).open("a") as file:
        file.write(f"{text} {time.time()}\n")
    time.sleep(wait_s)


@app.task(name="peer.about", bind=True)
def about(self: Task, *args: Any) -> dict[str, Any]:
    """What the task knows of its request."""
    request = self.request
    return {
        "priority": request.delivery_info["priority"],
        "headers": request.headers,
        "eta": request.eta,
        "pid": os.getpid(),
    }


@app.task(name="peer.die", acks_late=True, reject_on_worker_lost=True)
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
