"""Addresses, queues, settings and authorities as declarations: what is to be, compared
with what is, and made so.

One description of each kind of object serves the command line, the API over HTTP, the
file ``backout.toml``, ``declare_queue`` and the converters of other brokers' files.
"""

from __future__ import annotations

from broker.declarations.advising import advise
from broker.declarations.applying import apply, declare, one_at_a_time
from broker.declarations.attributes import Attribute, read_value
from broker.declarations.documents import export, read
from broker.declarations.object_kind import ObjectKind, every_kind, register
from broker.declarations.planning import (
    ChangePlan,
    Declaration,
    ObjectChange,
    plan,
    version,
)

__all__ = [
    "Attribute",
    "ChangePlan",
    "Declaration",
    "ObjectChange",
    "ObjectKind",
    "advise",
    "apply",
    "declare",
    "every_kind",
    "export",
    "one_at_a_time",
    "plan",
    "read",
    "read_value",
    "register",
    "version",
]
