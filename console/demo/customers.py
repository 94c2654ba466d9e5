"""Known customers: reference data that may arrive after an order.

A file, so that a message that failed for lack of it succeeds when it is resubmitted
after ``manage.py seed_demo --mend``.
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
    """The initial customers, and those added since."""
    try:
        entered = json.loads(file().read_text())
    except FileNotFoundError:
        entered = []
    return frozenset(KNOWN_CUSTOMERS).union(entered)


def enter(customers: Iterable[str]) -> None:
    """Add customers for all processes at once: the file is replaced atomically."""
    file().parent.mkdir(parents=True, exist_ok=True)
    draft = file().with_suffix(".draft")
    draft.write_text(json.dumps(sorted(known().union(customers))))
    draft.replace(file())
