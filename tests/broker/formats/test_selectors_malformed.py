"""Malformed selectors: each says where it is wrong, and why."""

from __future__ import annotations

import pytest

from broker.errors.messages import InvalidSelector
from broker.formats.selectors import parse
from broker.formats.selectors.parsing import LENGTH

MALFORMED = [
    ("", 1, "the selector ends where a name"),
    ("   ", 1, "the selector ends"),
    ("size", None, ""),
    ("size =", 7, "the selector ends where a name"),
    ("size = 'abc", 8, "no closing quote"),
    ("size = 'abc''", 8, "no closing quote"),
    ("size == 1", 7, "= stands where a name"),
    ("size != 1", 6, "unequal is written <>"),
    ('size = "red', 8, "no closing quote"),
    ('size = ""', 8, "a name has at least one character"),
    ('"JMSReplyTo" = 1', 1, "JMSReplyTo cannot be selected on"),
    ("AMQSize > 100", 1, "AMQSize cannot be selected on"),
    ("hyphenated_props:size-1 = ", 26, "the selector ends"),
    ("hyphenated_props:size-1 == 6", 26, "= stands where a name"),
    ("convert_string_expressions:size = '7'", 1, "strings are not converted"),
    ("size 7", 6, "7 stands where a comparison"),
    ("size = 7 colour = 'red'", 10, "colour stands where a comparison"),
    ("(size = 7", 10, "the selector ends where"),
    ("size = 7)", 9, ") stands where"),
    ("size = 7 AND", 13, "the selector ends where a name"),
    ("AND size = 7", 1, "AND stands where a name"),
    ("size = NULL", 8, "NULL stands where a name"),
    ("size IS 7", 9, "7 stands where NOT or NULL should"),
    ("size BETWEEN 1", 15, "AND should"),
    ("size IN (7)", 10, "7 stands where a string in single quotes should"),
    ("size IN ()", 10, ") stands where a string"),
    ("size IN 'a'", 9, "'a' stands where ( should"),
    ("size IN ('a' 'b')", 14, "'b' stands where a comma or ) should"),
    ("colour LIKE red", 13, "red stands where a string"),
    ("colour LIKE 'a' ESCAPE 'xy'", 24, "ESCAPE takes one character"),
    ("colour LIKE 'a!b' ESCAPE '!'", 13, "! stands before _, % or itself"),
    ("colour LIKE 'a!' ESCAPE '!'", 13, "! stands before _, % or itself"),
    ("'red' LIKE 'r%'", 1, "a name should stand before LIKE"),
    ("size + 1 IN ('a')", 1, "a name should stand before IN"),
    ("7 IS NULL", 1, "a name should stand before IS NULL"),
    ("colour > 'a'", 10, "compare by = and <> only"),
    ("TRUE < urgent", 1, "compare by = and <> only"),
    ("size BETWEEN 'a' AND 'b'", 14, "compare by = and <> only"),
    ("colour + 'a' = 1", 10, "only numbers can be calculated with"),
    ("-'a' = 1", 2, "only numbers"),
    ("size * TRUE = 1", 8, "only numbers"),
    ("size + 1", 1, "a number is no condition"),
    ("urgent AND 'red'", 12, "a string is no condition"),
    ("NOT 7", 5, "a number is no condition"),
    ("(size > 1) = TRUE", 2, "a condition is no value"),
    ("size > 1 > 0", 10, "> stands where AND, OR"),
    ("size = " + "9" * 101, 8, "at most 100 digits"),
    ("size = " + "9" * 5000, 8, "at most 100 digits"),
    ("size = 0." + "9" * 101, 8, "at most 100 digits"),
    ("size = 1e999", 8, "range of a double"),
    ("size = 1e-999", 8, "range of a double"),
    ("size = 1e999999999", 8, "range of a double"),
    ("size = 08", 8, "octal"),
    ("size = 1.5L", 8, "end in L"),
    ("size = 1x", 9, "x stands where"),
    ("size % 2 = 1", 6, "no remainder"),
    ("size = 7; DROP TABLE x", 9, "; means nothing here"),
    ("colour = 'a\0b'", 12, "no message can hold this character"),
    ("colour = '\ud800'", 11, "no message can hold this character"),
    ("JMSReplyTo = 'x'", 1, "JMSReplyTo cannot be selected on"),
    ("urgent AND JMSCorrelationId = 'x'", 12, "cannot be selected on"),
    ("size = 7 " * 1000, LENGTH + 1, "more than 8,192 characters"),
    ("NOT " * 40 + "urgent", 33, "nested more than 32 levels"),
    ("(NOT " * 33 + "urgent" + ")" * 33, 7, "nested more than 32 levels"),
    ("size" + "+1" * 21 + "=1", 45, "at most 20 operations"),
]


@pytest.mark.parametrize(("text", "position", "why"), MALFORMED)
def test_a_malformed_selector_says_where_and_why(
    text: str, position: int | None, why: str
) -> None:
    if position is None:
        parse(text)
        return
    with pytest.raises(InvalidSelector) as caught:
        parse(text)

    assert (caught.value.position, why in caught.value.why) == (position, True), str(
        caught.value
    )
