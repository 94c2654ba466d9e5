"""Normalization of names and passwords before they are compared.

Source: RFC 4013 (SASLprep), with the tables of RFC 3454.
"""

from __future__ import annotations

import stringprep
import unicodedata

from broker.amqp.protocol.conditions import UNAUTHORIZED_ACCESS, AmqpError

PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
    stringprep.in_table_a1,  # code points not assigned in Unicode 3.2
)


def prepare(text: str) -> str:
    """The normal form of a name or password.

    Raises:
        AmqpError: with ``amqp:unauthorized-access``; it has prohibited characters, or
            nothing is left of it.
    """
    if text.isascii() and text.isprintable() and text:
        return text
    spaced = (" " if stringprep.in_table_c12(char) else char for char in text)
    kept = "".join(char for char in spaced if not stringprep.in_table_b1(char))
    normal = unicodedata.ucd_3_2_0.normalize("NFKC", kept)
    if not normal or any(table(char) for char in normal for table in PROHIBITED):
        raise AmqpError(UNAUTHORIZED_ACCESS, "a character that may not be there")
    check_direction(normal)
    return normal


def check_direction(text: str) -> None:
    """Check that a text with right-to-left characters begins and ends with one, and has
    no left-to-right characters."""
    rightward = [stringprep.in_table_d1(char) for char in text]
    if any(rightward) and (
        not (rightward[0] and rightward[-1])
        or any(stringprep.in_table_d2(char) for char in text)
    ):
        raise AmqpError(UNAUTHORIZED_ACCESS, "two directions of writing")
