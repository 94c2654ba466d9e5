"""Who is known as a customer: reference data that can come later than an order.

A file, so that a message which failed for want of it can be seen to succeed when it is
resubmitted, after ``manage.py seed_demo --mend``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from console.demo.messages import KNOWN_CUSTOMERS


def file() -> Path:
    return settings.VAR_DIR / "demo" / "customers.json"


def known() -> frozenset[str]:
    """The customers to start with, and those that were entered since."""
    try:
        entered = json.loads(file().read_text())
    except FileNotFoundError:
        entered = []
    return frozenset(KNOWN_CUSTOMERS).union(entered)


def enter(customers: Iterable[str]) -> None:
    """Make customers known, to every process at once: the file is replaced whole."""
    file().parent.mkdir(parents=True, exist_ok=True)
    draft = file().with_suffix(".draft")
    draft.write_text(json.dumps(sorted(known().union(customers))))
    draft.replace(file())
