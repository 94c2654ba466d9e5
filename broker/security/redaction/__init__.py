"""What of messages is masked for whoever may not see it.

    sight_of(user) ── veils(messages) ──▶ veil ──▶ body, properties as they may be seen

Rules go with a message wherever it is copied to: as a dead letter, moved, edited.
Pages, exports, the API and the command line ask here, and show what they are given.
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
