"""A walk through an XML file that knows nothing of how it is read here."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from xml.etree import ElementTree as Xml

from broker.declarations import read
from broker.declarations.converters import converted, in_toml
from broker.declarations.converters import read as read_form
from broker.errors.settings import WrongSettings


def said(element: Xml.Element) -> str:
    """All text of an element that is not within its children."""
    return "".join([element.text or "", *(one.tail or "" for one in element)]).strip()


def parts(root: Xml.Element) -> int:
    """How many attributes, texts and empty elements there are."""
    return sum(
        len(one.attrib) + (bool(said(one)) or not (one.attrib or len(one)))
        for one in root.iter()
    )


def shortened(root: Xml.Element) -> Iterator[tuple[str, Xml.Element]]:
    """The document without each of its elements, attributes and texts, one at a
    time."""
    for number, one in enumerate(root.iter()):
        for place, child in enumerate(one):
            less = copy.deepcopy(root)
            del list(less.iter())[number][place]
            yield f"{child.tag} {child.attrib} {child.text}", less
        for name in one.attrib:
            less = copy.deepcopy(root)
            del list(less.iter())[number].attrib[name]
            yield f"{name} of {one.tag}", less
        if said(one) and not len(one):
            less = copy.deepcopy(root)
            list(less.iter())[number].text = ""
            yield f"the text of {one.tag}", less


def of(form: str, root: Xml.Element | str) -> converted.Converted:
    text = root if isinstance(root, str) else Xml.tostring(root, encoding="unicode")
    return read_form(form, text.encode())


def toml(form: str, root: Xml.Element | str) -> str:
    """What a file becomes, without the numbers of lines and the counts; or why it is
    refused."""
    try:
        text = in_toml(of(form, root), form, source="file")
    except WrongSettings as error:
        return str(error)
    read(text)
    text = re.sub(r"\d[\d,]* (parts read|taken over|named|as by)", "", text)
    return re.sub(
        r"lines? ([\d, ]+), ", lambda one: "in " * len(one[1].split(",")), text
    )
