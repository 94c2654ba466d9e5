"""Patches: changes to the body and headers of many messages, with conditions.

These are pure values, without a database. ``parse`` reads a patch from JSON. ``apply``
applies it to a message: the result is a repair, the new body and headers, or the reason
why the patch does not apply.
"""

from __future__ import annotations

from broker.formats.patches.applying import (
    LARGEST,
    Misfit,
    Repair,
    Subject,
    Unfit,
    apply,
)
from broker.formats.patches.differences import ValueChange, changes
from broker.formats.patches.documents import Patch, parse, written
from broker.formats.patches.headers import FIELDS, HeaderOperation, is_own, names_of

__all__ = [
    "FIELDS",
    "LARGEST",
    "HeaderOperation",
    "Misfit",
    "Patch",
    "Repair",
    "Subject",
    "Unfit",
    "ValueChange",
    "apply",
    "changes",
    "is_own",
    "names_of",
    "parse",
    "written",
]
