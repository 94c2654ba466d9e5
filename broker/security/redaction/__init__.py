"""Redaction: mask values in messages for users who may not see them.

    sight_of(user) ── veils(messages) ──▶ veil ──▶ masked body and properties

A rule also applies to copies of a message on other queues: dead letters, moved and
edited messages. Pages, exports, the API and the command line all use this package.
"""

from __future__ import annotations

from broker.security.redaction.masking import HIDDEN, MaskedBody
from broker.security.redaction.sight import (
    CLEAR,
    MOST,
    Sight,
    Veil,
    lifted,
    require_clear,
    require_selector,
    sight_of,
)

__all__ = [
    "CLEAR",
    "HIDDEN",
    "MOST",
    "MaskedBody",
    "Sight",
    "Veil",
    "lifted",
    "require_clear",
    "require_selector",
    "sight_of",
]
