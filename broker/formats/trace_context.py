"""W3C trace context, as the properties ``traceparent`` and ``tracestate`` of a message.

AMQP clients may send it as message annotations instead, and then ``traceparent`` as
bytes.

Source:
    W3C, "Trace Context", sections 3.2 and 3.3; "Trace Context: AMQP protocol" (draft),
    "Trace context fields placement in a message"; "Trace Context: binary" (draft).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
FIELDS = (TRACEPARENT, TRACESTATE)
# Most characters that are kept; each program must pass on that many.
LONGEST_STATE = 512

# Version 00 has no further parts; a later version may have some.
FORM = re.compile(
    r"(?:00(?=.{53}\Z)|(?!00|ff)[0-9a-f]{2})"
    r"-(?!0{32})(?P<trace_id>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.{,200})?"
)
BINARY = re.compile(rb"\0\0(.{16})\x01(.{8})\x02(.)", re.DOTALL)


def trace_id(properties: Mapping[str, Any]) -> str | None:
    """The trace id of a message, 32 hexadecimal digits; None without a valid one."""
    found = properties.get(TRACEPARENT)
    if not isinstance(found, str):
        return None
    form = FORM.fullmatch(found)
    return form and form["trace_id"]


def context_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """The trace context of a message; empty without a valid ``traceparent``."""
    if TRACEPARENT not in properties or trace_id(properties) is None:
        return {}
    context = {TRACEPARENT: properties[TRACEPARENT]}
    state = properties.get(TRACESTATE)
    if isinstance(state, str) and 0 < len(state) <= LONGEST_STATE:
        context[TRACESTATE] = state
    return context


def from_annotations(found: Mapping[Any, Any]) -> dict[str, str]:
    """The trace context in the message annotations of AMQP; empty if there is none."""
    parent = found.get(TRACEPARENT)
    if isinstance(parent, bytes):
        parent = text_of(parent)
    return context_of({TRACEPARENT: parent, TRACESTATE: found.get(TRACESTATE)})


def text_of(parent: bytes) -> str | None:
    """A binary ``traceparent`` as text; None if it has another form."""
    form = BINARY.fullmatch(parent)
    return form and f"00-{form[1].hex()}-{form[2].hex()}-{form[3].hex()}"
