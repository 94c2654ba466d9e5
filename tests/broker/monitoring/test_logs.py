"""Log lines as JSON: the ids of what they are about, and no content of messages."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client

from broker.models import Queue
from broker.monitoring import logs
from broker.operations import lifecycle
from broker.queueing.put import put
from tests.broker.handling import handle_next, handler

Lines = Callable[[], list[dict[str, Any]]]
logger = logging.getLogger("shop.handlers")


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged from now on, read from JSON."""
    output = io.StringIO()
    written = logging.StreamHandler(output)
    written.setFormatter(logs.JsonFormatter())
    root = logging.getLogger()
    before = root.level
    root.addHandler(written)
    root.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in output.getvalue().splitlines()]
    root.setLevel(before)
    root.removeHandler(written)


def test_lines_of_a_handler_and_of_its_backout_name_the_message(
    orders: Queue, lines: Lines
) -> None:
    message_id = put("orders", b"the content of a message").message_id
    units = []

    def refuse(delivery: Any, work: Any) -> None:
        units.append(delivery.uow)
        logger.info("Looking for the %s.", "customer")
        raise LookupError("no such customer")

    handle_next(handler(refuse))

    own, backout = (one for one in lines() if "message_id" in one)
    ids = {"queue": "orders", "message_id": message_id, "unit_of_work": units[0]}
    assert own.items() >= ids.items()
    assert (own["event"], own["logger"], own["level"], own["process"]) == (
        *("Looking for the customer.", "shop.handlers", "info", os.getpid()),
    )
    assert backout.items() >= ids.items()
    assert "backed out" in backout["event"]
    assert "the content" not in json.dumps(lines())

    logger.info("Afterwards")
    assert "queue" not in lines()[-1]


def test_lines_of_an_operation_name_it(
    db: None, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(operation_id: int, *_: Any) -> int:
        logger.info("A step")
        return 0

    monkeypatch.setattr(lifecycle, "make_step", made)
    lifecycle.step(4711)
    assert [one["operation"] for one in lines()] == [4711]


def test_a_request_has_an_id_in_its_lines_and_in_its_answer(
    db: None, client: Client, lines: Lines
) -> None:
    given = f"proxy-{uuid4()}"
    taken = client.get("/api/v1/nowhere", headers={"X-Request-ID": given})
    made = client.get("/api/v1/nowhere", headers={"X-Request-ID": 'x"\n{}'})

    assert taken["X-Request-ID"] == given
    assert len(made["X-Request-ID"]) == 32
    ids = [one["request_id"] for one in lines() if one["logger"] == "django.request"]
    assert ids == [given, made["X-Request-ID"]]


def test_a_stack_trace_is_in_the_line_of_its_error(lines: Lines) -> None:
    try:
        raise LookupError("two\nlines")
    except LookupError:
        with logs.bound(queue="orders", message_id=None):
            logger.exception("It failed.")
    (line,) = lines()
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("LookupError: two\nlines")
    assert (line["queue"], "message_id" in line) == ("orders", False)


def test_a_setting_chooses_the_format() -> None:
    script = "import django, logging; django.setup(); logging.getLogger('x').error('y')"
    said = subprocess.run(
        [sys.executable, "-c", script],
        cwd=settings.BASE_DIR,
        env=os.environ
        | {"BACKOUT_LOG_FORMAT": "json", "DJANGO_SETTINGS_MODULE": "console.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    line = json.loads(said.stderr)
    assert (line["logger"], line["event"], line["level"]) == ("x", "y", "error")
