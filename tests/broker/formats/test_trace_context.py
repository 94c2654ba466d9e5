"""W3C trace context: what counts as one, in properties and in annotations of AMQP."""

from __future__ import annotations

from typing import Any

import pytest

from broker.formats.trace_context import context_of, from_annotations, trace_id

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("parent", "found"),
    [
        (PARENT, TRACE),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", TRACE),
        (f"{PARENT}-more", None),  # version 00 has four parts
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (PARENT.upper(), None),
        (f"{PARENT}\n", None),
        (f'00-{TRACE}-{SPAN}-"><script>', None),
        ("", None),
        (17, None),
        (None, None),
        ({"a": 1}, None),
    ],
)
def test_only_what_the_standard_allows_is_a_trace(parent: Any, found: str) -> None:
    assert trace_id({"traceparent": parent}) == found
    assert bool(context_of({"traceparent": parent})) == (found is not None)


@pytest.mark.parametrize(
    ("state", "kept"),
    [("rojo=1,congo=t61", True), ("x=" + "y" * 600, False), (7, False), ("", False)],
)
def test_the_state_goes_along_if_it_is_a_text_of_bounded_length(
    state: Any, kept: bool
) -> None:
    carried = context_of({"traceparent": PARENT, "tracestate": state, "tenant": "t7"})

    assert carried == {"traceparent": PARENT} | ({"tracestate": state} if kept else {})
    assert context_of({"tracestate": state}) == {}


@pytest.mark.parametrize(
    ("parent", "found"),
    [
        (PARENT, PARENT),
        (
            bytes.fromhex(f"0000{TRACE}01{SPAN}0201"),  # the draft's binary form
            PARENT,
        ),
        (bytes.fromhex(f"0000{TRACE}01{SPAN}02"), None),
        (b"", None),
    ],
)
def test_an_annotation_may_be_binary(parent: Any, found: str | None) -> None:
    carried = from_annotations({"traceparent": parent})

    assert carried == ({"traceparent": found} if found else {})
