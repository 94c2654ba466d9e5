"""Each part of a jmsbridge document is taken over, named or refused."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from xml.etree import ElementTree as Xml

import pytest

from broker.bridges.config.documents import values_of
from broker.bridges.config.jmsbridge_xml import read
from broker.errors.settings import WrongSettings
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT, LEAST
from tests.broker.declarations.xml_walk import shortened


def result(root: Xml.Element) -> str:
    """What a document becomes, and what is said of it; or why it is refused."""
    try:
        found = read(Xml.tostring(root, encoding="unicode"))
    except WrongSettings as refused:
        return str(refused)
    made = [(type(one).__name__, values_of(one)) for one in found.parts]
    sealed = [bool(one.secret) for one in found.factories]
    said = [re.sub(r"line \d+", "", one.where) + one.what for one in found.left_open]
    return repr((made, sealed, said))


@pytest.mark.parametrize("text", [DOCUMENT, LEAST])
def test_no_part_vanishes_without_a_word(text: str) -> None:
    whole = Xml.fromstring(text)
    before = result(whole)

    silent = [what for what, less in shortened(whole) if result(less) == before]

    # A link is off until its provider is chosen: that it is off says the file as well.
    assert silent == (["enabled of link"] if text is DOCUMENT else [])


def longer(root: Xml.Element) -> Iterator[Xml.Element]:
    """The document with one part more, in each place."""
    for number, one in enumerate(root.iter()):
        for part in ("attribute", "element", "text", "instruction"):
            more = copy.deepcopy(root)
            at = list(more.iter())[number]
            if part == "attribute":
                at.set("unheard-of", "1")
            elif part == "element":
                at.append(Xml.Element("unheard-of"))
            elif part == "instruction":
                at.append(Xml.ProcessingInstruction("unheard-of", "1"))
            else:
                at.text = f"{one.text or ''} unheard-of"
            yield more


def test_what_no_bridge_has_is_refused_or_named() -> None:
    root = Xml.fromstring(DOCUMENT)
    before = result(root)

    assert before not in [result(one) for one in longer(root)]


def test_a_login_that_another_replaces_is_named() -> None:
    text = LEAST.replace(
        '<connection-factory ref-name="here"/>',
        '<connection-factory ref-name="here" username="a" password="b">'
        '<property name="imqDefaultUsername" value="c"/>'
        '<property name="imqDefaultPassword" value="b"/></connection-factory>',
    )

    found = read(text)

    assert [one.username for one in found.factories] == ["a"]
    assert [one.what for one in found.left_open] == [
        "imqDefaultUsername is left out: the attribute username says another."
    ]


@pytest.mark.parametrize("text", ["1", "TRUE", "yes"])
def test_a_truth_value_is_as_the_document_type_has_it(text: str) -> None:
    with pytest.raises(WrongSettings, match="enabled must be true or false"):
        read(LEAST.replace('<link name="l">', f'<link name="l" enabled="{text}">'))
