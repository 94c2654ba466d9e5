"""Patches: what is to be changed in each of many messages, and in which.

Values only: nothing here knows a table. A patch is read from JSON (``parse``) and
applied to what is known of a message (``apply``), which gives what the message is to
have instead, or says why the patch does not fit it.
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
