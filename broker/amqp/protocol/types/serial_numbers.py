"""Serial numbers: ids and counts that wrap around to zero after 2**32 - 1.

Source: AMQP 1.0, part 2, section 2.8.10; RFC 1982.
"""

from __future__ import annotations

MASK = 0xFFFFFFFF
HALF = 0x80000000


def ahead(number: int, of: int) -> int:
    """How far ``number`` is ahead of another; negative if it is behind.

    Returns:
        From -2**31 to 2**31 - 1.
    """
    return ((number - of + HALF) & MASK) - HALF
