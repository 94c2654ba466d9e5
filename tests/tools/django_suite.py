"""Django's own tests of its tasks, ``tests/tasks``, with Backout as the backend.

    manage.py with_servers python -m tests.tools.django_suite SOURCE

SOURCE is the unpacked source package of the Django that is installed, 6.0 or later.
Backout stands for the two backends of Django: ``Enqueues`` for ``DummyBackend``, as its
tasks wait, and ``Runs`` for ``ImmediateBackend``, as a dispatcher in the same process
runs each one at once, and once only. The tests then need the tables of the broker, and
see no messages of each other.
"""

from __future__ import annotations

import os
import sys
import unittest
from importlib import import_module
from pathlib import Path
from typing import Any

import django

django.setup()

from django.tasks.backends import dummy, immediate  # noqa: E402
from django.test import SimpleTestCase, TransactionTestCase  # noqa: E402
from django.test.runner import DiscoverRunner  # noqa: E402

from broker.client.django_tasks import BackoutBackend, running  # noqa: E402
from broker.models import AddressSetting, Message  # noqa: E402
from tests.broker.handling import handle_next, handler  # noqa: E402

MODULES = ("test_dummy_backend", "test_immediate_backend", "test_tasks")
STATUS = "the journal has the status: a test cannot set it"
KEEPS = "results are kept"
NOT_APPLICABLE = {
    "DummyBackendTestCase.test_clear": "results go by their retention, not at once",
    "DummyBackendTestCase.test_refresh_result": STATUS,
    "DummyBackendTestCase.test_refresh_result_async": STATUS,
    "ImmediateBackendTestCase.test_cannot_get_result": KEEPS,
    "ImmediateBackendTestCase.test_cannot_refresh_result": KEEPS,
    "ImmediateBackendTestCase.test_cannot_pass_run_after": "a task may wait",
    "ImmediateBackendTestCase.test_throws_keyboard_interrupt": (
        "what a task raises ends the task, not the dispatcher"
    ),
    "ImmediateBackendTransactionTestCase"
    ".test_doesnt_wait_until_transaction_commit_by_default": (
        "a task runs after the commit of who enqueues it"
    ),
}


class Enqueues(BackoutBackend):
    def clear(self) -> None:
        """Nothing: each test begins without messages."""

    @property
    def results(self) -> list[Any]:
        numbers = Message.objects.order_by("pk").values_list("pk", flat=True)
        return [self.get_result(str(number)) for number in numbers]


class Runs(BackoutBackend):
    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        once = {"max_delivery_attempts": 1}
        AddressSetting.objects.get_or_create(once, match=task.queue_name)
        result = super().enqueue(task, args, kwargs)
        handle_next(handler(running.run, queue=task.queue_name, join=False))
        return self.get_result(result.id)


def main(source: Path) -> int:
    # Some tests call the database within coroutines, as Django's backends have none.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    vars(dummy)["DummyBackend"], vars(immediate)["ImmediateBackend"] = Enqueues, Runs
    sys.path.append(str(source / "tests"))
    for name in MODULES:
        for one in vars(import_module(f"tasks.{name}")).values():
            if isinstance(one, type) and issubclass(one, SimpleTestCase):
                prepare(one)
    return DiscoverRunner(interactive=False, keepdb=True, verbosity=1).run_tests(
        [f"tasks.{name}" for name in MODULES]
    )


def prepare(case: Any) -> None:
    """Let tests use the database, and leave out what does not apply."""
    if case in (SimpleTestCase, TransactionTestCase):
        return
    case.__bases__ = (TransactionTestCase,)
    case.available_apps = None
    for name, reason in NOT_APPLICABLE.items():
        of, _, test = name.rpartition(".")
        if of == case.__name__:
            setattr(case, test, unittest.skip(reason)(getattr(case, test)))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
