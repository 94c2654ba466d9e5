"""The queue of the harness's messages: declared, described, counted."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from broker.client import declare_queue
from broker.queueing import journal
from broker.queueing.journal import Depth
from tests.harness.backout.handlers import QUEUE
from tests.harness.contract import Lines, Told

SYSTEM = "backout"
DEAD_LETTERS = "DLQ"
HERE = Path(__file__).parent
DECLARED: list[str] = json.loads((HERE / "adapter.json").read_text())["event_tables"]
PARTITIONS = """
SELECT 'public.' || child.relname FROM pg_inherits
JOIN pg_class AS child ON child.oid = inhrelid
WHERE inhparent IN ('broker_message'::regclass, 'broker_event'::regclass)
  AND child.relname NOT LIKE '%_default'
ORDER BY 1"""
EMPTY = Depth()


def prepare(told: Told) -> None:
    """Migrate the database, and declare the queue; what is there already is kept."""
    call_command("migrate", verbosity=0)
    rules: dict[str, object] = {"dead_letter_address": DEAD_LETTERS}
    if told.max_attempts is not None:
        rules["max_delivery_attempts"] = told.max_attempts
    declare_queue(QUEUE, **rules)


def describe(told: Told) -> None:
    """Write the descriptor, with the partitions that there are now."""
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS)
        partitions = [name for (name,) in cursor.fetchall()]
    Lines(SYSTEM, told).describe([*DECLARED, *partitions], revision())


def revision() -> str:
    """The commit of this tree, if it is a checkout."""
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "unknown"


def depths(name: str = QUEUE) -> Depth:
    """The counts of a queue, as the console has them."""
    number = number_of(name)
    return journal.depths([number]).get(number, EMPTY)


@cache
def number_of(name: str) -> int:
    return declare_queue(name).pk
