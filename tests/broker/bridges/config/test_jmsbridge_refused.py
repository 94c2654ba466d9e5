"""What is wrong with a document of a bridge is said, with its place."""

from __future__ import annotations

import pytest

from broker.bridges.config.jmsbridge_xml import read
from broker.errors.settings import WrongSettings
from tests.broker.bridges.config.jmsbridge_documents import LEAST

SOURCE = '<source connection-factory-ref="here" destination-ref="q"/>'
TARGET = '<target connection-factory-ref="here" destination-ref="r"/>'
WRONG = {
    "no XML": ("<jmsbridge", "Line 1, column 1: This is no XML"),
    "another document": ("<broker/>", "its root must be <jmsbridge>."),
    "no name": (LEAST.replace(' name="b"', "", 1), "It needs the attribute 'name'."),
    "a reserved name": (
        LEAST.replace('dmq name="d"', 'dmq name="built-in-dmq"'),
        "'built-in-dmq' is reserved for the bridge itself. Take another name.",
    ),
    "an unknown element": (
        LEAST.replace(SOURCE, f"{SOURCE}<filter/>"),
        "Line 3, <filter>: It is not allowed in <link>. Remove it.",
    ),
    "an unknown attribute": (
        LEAST.replace('dmq name="d"', 'dmq name="d" client-id="x"'),
        "There is no attribute 'client-id'. These exist: name, enabled",
    ),
    "no truth": (
        LEAST.replace('link name="l"', 'link name="l" enabled="yes"'),
        "enabled must be true or false, not 'yes'.",
    ),
    "no number": (
        LEAST.replace('dmq name="d"', 'dmq name="d" send-attempts="x"'),
        "send-attempts must be a whole number, not 'x'.",
    ),
    "a number out of range": (
        LEAST.replace('dmq name="d"', 'dmq name="d" send-attempts="0"'),
        "Give a number from 1.",
    ),
    "a number of nobody's": (
        LEAST.replace('dmq name="d"', f'dmq name="d" send-attempts="{10**15}"'),
        "less than or equal to",
    ),
    "an unknown factory": (
        LEAST.replace('ref="here" destination-ref="r"', 'ref="x" destination-ref="r"'),
        "names 'x', and there is no <connection-factory> with that ref-name.",
    ),
    "an unknown destination": (
        LEAST.replace('destination-ref="r"', 'destination-ref="x"'),
        "destination-ref names 'x', and there is no <destination> with that ref-name.",
    ),
    "AS_SOURCE as a source": (
        LEAST.replace('destination-ref="q"', 'destination-ref="AS_SOURCE"'),
        "destination-ref names 'AS_SOURCE', and there is no <destination>",
    ),
    "no target": (
        LEAST.replace(
            '<target connection-factory-ref="here" destination-ref="r"/>', ""
        ),
        "It needs one <source> and one <target>.",
    ),
    "a name twice": (
        LEAST.replace('ref-name="r" name="r"', 'ref-name="q" name="r"'),
        "There is a <destination> 'q' already.",
    ),
    "a property twice": (
        LEAST.replace(
            '<connection-factory ref-name="here"/>',
            '<connection-factory ref-name="here"><property name="a" value="1"/>'
            '<property name="a" value="2"/></connection-factory>',
        ),
        "'a' is given twice. Remove one.",
    ),
    "a property of ours that is none": (
        LEAST.replace(
            '<destination ref-name="q" name="q"/>',
            '<destination ref-name="q" name="q"><property name="backout.x" value="1"/>'
            "</destination>",
        ),
        "There is no property 'backout.x' here. These exist: none.",
    ),
    "a destination of no name": (
        LEAST.replace('ref-name="q" name="q"', 'ref-name="q"'),
        "It needs a name, or a lookup-name.",
    ),
    "text": (LEAST.replace(SOURCE, f"hello{SOURCE}"), "It cannot contain text."),
    "an entity": (
        f'<!DOCTYPE jmsbridge [<!ENTITY a "b">]>{LEAST}',
        "It declares entities or a document type.",
    ),
    "a file from elsewhere": (
        '<!DOCTYPE jmsbridge [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
        + LEAST.replace('name="l"', 'name="&a;"'),
        "It declares entities or a document type.",
    ),
    "an entity that is nowhere": (
        f'<!DOCTYPE jmsbridge SYSTEM "x.dtd">{LEAST.replace(SOURCE, f"&a;{SOURCE}")}',
        "This is no XML: undefined entity",
    ),
    "a billion laughs": (
        '<!DOCTYPE jmsbridge [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>' + LEAST,
        "It declares entities or a document type.",
    ),
    "too much": (LEAST + " " * 2**20, "It is above 1 MiB. Split it."),
    "a description that is none": (
        LEAST.replace("<link", "<?backout-description {?><link"),
        "<?backout-description?> must be a text, written as JSON.",
    ),
}


@pytest.mark.spec("BRIDGE-17")
@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(WrongSettings) as refusal:
        read(text)

    assert sentence in str(refusal.value)


def test_an_encoding_that_nobody_knows_is_refused() -> None:
    with pytest.raises(WrongSettings, match=r"encoding|no XML"):
        read(b'<?xml version="1.0" encoding="none"?>' + LEAST.encode())
