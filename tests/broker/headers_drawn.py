"""Draws descriptors and headers, with all that their fields can hold.

Each is drawn as a whole, by a seed: of thousands of headers Hypothesis would take most
of a minute to draw every field, and a moment to draw a number.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from broker.errors.mq_codes import Ccsid, Enc, Format
from broker.formats.mq import descriptor, mqdlh
from broker.formats.mq.descriptor import Descriptor
from broker.formats.mq.folders import Element, Folder, Value
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2
from tests.examples import examples

Drawn = TypeVar("Drawn")

# Of each kind of header; only their number may take long.
TEN_THOUSAND = settings(
    max_examples=examples(10_000),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

BYTE_ORDERS = (Enc.NORMAL, Enc.REVERSED)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
FORMATS = st.sampled_from([*Format, "MQHRF", "MQCICS", "ORDERS"])
CCSIDS = [Ccsid.UTF_8, Ccsid.UTF_16, Ccsid.UTF_16_UNICODE_2, Ccsid.UTF_16_UNICODE_3]
NAMES = ["a", "B", "_", "usr", "JMSXGroupID", "x-1", "y.2", "größe", "a:b", "n" * 60]

# Kinds of characters; each is drawn as often as the others.
ASCII = [range(0x20), range(0x20, 0x30), range(0x30, 0x80)]
ASTRAL = range(0x10000, 0x110000)
ANY_CHARACTERS = [
    *(*ASCII, range(0x80, 0xA0), range(0xA0, 0x800), range(0x800, 0xD800)),
    *(range(0xE000, 0x10000), ASTRAL),
]
# What XML can carry: not most of the control characters, nor halves of a pair.
CARRIED = [
    *(range(0x09, 0x0B), range(0x0D, 0x0E), range(0x20, 0x30), range(0x30, 0x7F)),
    *(range(0xA0, 0x800), range(0x800, 0xD800), range(0xE000, 0xFFFE), ASTRAL),
]
BETWEEN = ["", *"<>&\"';]"]
REALS = [0.0, -0.0, 1.5, -0.1, 5e-324, 2.0**-149, math.inf, -math.inf, math.nan]


def by_seed(draw: Callable[[Random], Drawn]) -> st.SearchStrategy[Drawn]:
    return st.integers(0, 2**64 - 1).map(Random).map(draw)


def whole(random: Random, bits: int = 32) -> int:
    """Often one of the smallest, the largest, or about zero."""
    end = 1 << (bits - 1)
    if random.random() < 0.25:
        return random.choice([-end, 1 - end, -1, 0, 1, end - 1])
    return random.randrange(-end, end)


def real(random: Random, layout: str) -> float:
    """Of all that fit, as ``struct`` calls it; often a special one."""
    if random.random() < 0.25:
        raw = struct.pack(layout, random.choice(REALS))
    else:
        raw = random.randbytes(struct.calcsize(layout))
    (number,) = struct.unpack(layout, raw)
    return float(number)


def text(random: Random, kinds: list[range], most: int) -> str:
    """Characters of one kind and then of another."""
    one, other = random.choices(kinds, k=2)
    drawn = random.choices(one, k=random.randint(0, most // 2))
    drawn += random.choices(other, k=random.randint(0, most - most // 2))
    return "".join(map(chr, drawn))


def padded_text(random: Random, width: int) -> str:
    """Text that fits a field; blanks at its end would be taken for padding."""
    if random.random() < 0.5:
        return text(random, ASCII, width).rstrip(" ")
    return text(random, ANY_CHARACTERS, width // 4).rstrip(" ")


def carried(random: Random) -> str:
    around = text(random, CARRIED, 6), text(random, CARRIED, 6)
    between: str = random.choice(BETWEEN)
    return between.join(around)


def fields(
    random: Random, names: list[str], texts: dict[str, int], octets: dict[str, int]
) -> dict[str, int | str | bytes]:
    return {
        **{name: whole(random) for name in names},
        **{name: padded_text(random, width) for name, width in texts.items()},
        **{name: random.randbytes(width) for name, width in octets.items()},
    }


def any_descriptor(random: Random) -> Descriptor:
    drawn = fields(random, descriptor.NAMES, descriptor.TEXTS, descriptor.OCTETS)
    return Descriptor(**drawn)  # type: ignore[arg-type]  # each as its field is


def any_dead_letter_header(random: Random) -> DeadLetterHeader:
    drawn = fields(random, mqdlh.NAMES, mqdlh.TEXTS, {})
    return DeadLetterHeader(**drawn)  # type: ignore[arg-type]


VALUES: list[tuple[str, Callable[[Random], Value]]] = [
    ("string", carried),
    ("boolean", lambda random: random.random() < 0.5),
    ("bin.hex", lambda random: random.randbytes(random.randint(0, 9))),
    *((f"i{bits // 8}", partial(whole, bits=bits)) for bits in (8, 16, 32, 64)),
    ("r4", partial(real, layout="f")),
    ("r8", partial(real, layout="d")),
    *((dt, lambda _: None) for dt in ("string", "i4", "bin.hex")),
]


def any_property(random: Random) -> Element:
    dt, value = random.choice(VALUES)
    return Element(random.choice(NAMES), value(random), dt)


def any_element(random: Random) -> Element:
    if random.random() < 0.5:
        return any_property(random)
    inner = tuple(any_property(random) for _ in range(random.randint(1, 3)))
    return Element(random.choice(NAMES), inner)


def any_folder(random: Random) -> Folder:
    elements = [any_element(random) for _ in range(random.randint(0, 3))]
    return Folder.of(random.choice(NAMES), *elements)


def any_rfh2(random: Random) -> Rfh2:
    return Rfh2(
        encoding=whole(random),
        coded_char_set_id=whole(random),
        format=padded_text(random, 8),
        flags=whole(random),
        name_value_ccsid=random.choice(CCSIDS),
        folders=tuple(any_folder(random) for _ in range(random.randint(0, 2))),
    )


DESCRIPTORS = by_seed(any_descriptor)
DEAD_LETTER_HEADERS = by_seed(any_dead_letter_header)
PROPERTIES = by_seed(any_property)
FOLDERS = by_seed(any_folder)
RFH2S = by_seed(any_rfh2)
