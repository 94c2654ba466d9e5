"""Decimals of IEEE 754, from their bytes: AMQP has the binary encoding of the digits.

Source:
    AMQP 1.0, part 1, section 1.6.13; IEEE 754-2008, section 3.5.2.
"""

from __future__ import annotations

from decimal import Decimal

# By width in bytes: bits of the exponent, its bias, and the most digits.
FORMATS = {4: (8, 101, 7), 8: (10, 398, 16), 16: (14, 6176, 34)}
INFINITY, NOT_A_NUMBER = 0b11110, 0b11111
NAN = Decimal("NaN")


def decimal_of(raw: bytes) -> Decimal:
    """The number in 4, 8 or 16 bytes. Digits beyond the most, which no encoder may
    write, are zero by the standard."""
    exponent_bits, bias, most = FORMATS[len(raw)]
    bits = 8 * len(raw)
    whole = int.from_bytes(raw, "big")
    sign, rest = whole >> (bits - 1), whole & (1 << (bits - 1)) - 1
    kind = rest >> (bits - 6)
    if kind in (INFINITY, NOT_A_NUMBER):
        return Decimal("-Infinity" if sign else "Infinity") if kind == INFINITY else NAN
    digit_bits = bits - 1 - exponent_bits
    high = 0
    if kind >> 3 == 0b11:  # two bits that say: the digits begin with 100
        digit_bits -= 2
        high = 0b100 << digit_bits
    exponent = rest >> digit_bits & (1 << exponent_bits) - 1
    digits = high | rest & (1 << digit_bits) - 1
    if digits >= 10**most:
        digits = 0
    return Decimal((sign, tuple(map(int, str(digits))), exponent - bias))
