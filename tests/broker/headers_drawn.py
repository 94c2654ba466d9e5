"""Draws descriptors and headers, with all that their fields can hold."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from broker.mq import descriptor, mqdlh
from broker.mq.codes import Ccsid, Enc, Format
from broker.mq.descriptor import Descriptor
from broker.mq.folders import Element, Folder
from broker.mq.mqdlh import DeadLetterHeader
from broker.mq.rfh2 import Rfh2

# As many as were asked for of each kind of header; only their number may take long.
TEN_THOUSAND = settings(
    max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

BYTE_ORDERS = (Enc.NORMAL, Enc.REVERSED)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
ANY_CHARACTERS = st.characters(exclude_categories=["Cs"])
CCSIDS = st.sampled_from(
    [Ccsid.UTF_8, Ccsid.UTF_16, Ccsid.UTF_16_UNICODE_2, Ccsid.UTF_16_UNICODE_3]
)
# Names by regular expression would take half of the time.
NAMES = st.sampled_from(
    ["a", "B", "_", "usr", "JMSXGroupID", "x-1", "y.2", "größe", "a:b", "n" * 60]
)
# What XML can carry: not most of the control characters, nor halves of a pair.
CARRIED = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"],
        exclude_characters="\ufffe\uffff",
        include_characters="\t\n\r",
    ),
    max_size=12,
)


def padded_texts(width: int) -> st.SearchStrategy[str]:
    """Text that fits a field; blanks at its end would be taken for padding."""
    narrow = st.text(st.characters(codec="ascii"), max_size=width)
    wide = st.text(ANY_CHARACTERS, max_size=width // 4)
    return (narrow | wide).map(lambda text: text.rstrip(" "))


def fixed_fields(
    names: list[str], texts: dict[str, int], octets: dict[str, int]
) -> dict[str, st.SearchStrategy[Any]]:
    strategies: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(names, NUMBERS)
    strategies |= {name: padded_texts(width) for name, width in texts.items()}
    return strategies | {
        name: st.binary(min_size=width, max_size=width)
        for name, width in octets.items()
    }


DESCRIPTORS: st.SearchStrategy[Descriptor] = st.builds(
    Descriptor,
    **fixed_fields(descriptor.NAMES, descriptor.TEXTS, descriptor.OCTETS),
)
DEAD_LETTER_HEADERS: st.SearchStrategy[DeadLetterHeader] = st.builds(
    DeadLetterHeader, **fixed_fields(mqdlh.NAMES, mqdlh.TEXTS, {})
)


def whole(dt: str, bits: int) -> st.SearchStrategy[Element]:
    numbers = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.builds(Element, NAMES, numbers, st.just(dt))


PROPERTIES = st.one_of(
    st.builds(Element, NAMES, CARRIED),
    st.builds(Element, NAMES, st.booleans(), st.just("boolean")),
    st.builds(Element, NAMES, st.binary(max_size=9), st.just("bin.hex")),
    *(whole(dt, bits) for dt, bits in [("i1", 8), ("i2", 16), ("i4", 32), ("i8", 64)]),
    st.builds(Element, NAMES, st.floats(width=32), st.just("r4")),
    st.builds(Element, NAMES, st.floats(), st.just("r8")),
    st.builds(Element, NAMES, st.none(), st.sampled_from(["string", "i4", "bin.hex"])),
)
GROUPS = st.builds(
    Element, NAMES, st.lists(PROPERTIES, min_size=1, max_size=3).map(tuple)
)
FOLDERS = st.builds(
    lambda name, elements: Folder.of(name, *elements),
    NAMES,
    st.lists(PROPERTIES | GROUPS, max_size=3),
)
RFH2S: st.SearchStrategy[Rfh2] = st.builds(
    Rfh2,
    encoding=NUMBERS,
    coded_char_set_id=NUMBERS,
    format=padded_texts(8),
    flags=NUMBERS,
    name_value_ccsid=CCSIDS,
    folders=st.lists(FOLDERS, max_size=2).map(tuple),
)
FORMATS = st.sampled_from([*Format, "MQHRF", "MQCICS", "ORDERS"])
