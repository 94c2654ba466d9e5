"""Mask structured bodies: JSON, XML and HL7. Each function parses a text, masks the
targets of its rules, applies regular expressions to all other texts, and writes the
result. A text that cannot be parsed without doubt is an error; then no part of it is
shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element, ParseError, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from broker.formats import lossless_json
from broker.models.redaction import RedactionRule
from broker.security.redaction import targets
from broker.security.redaction.targets import ANY, DEEP, Hl7Field, Steps

Kind = RedactionRule.Kind
Mark = Callable[[str], str]  # returns the mark for a rule, by the rule's name
Scrub = Callable[[str], str]  # masks what regular expressions match in a text
Rules = Sequence[RedactionRule]

ENDS = re.compile(r"(\r\n|\r|\n)")
SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}")
HEADERS = ("MSH", "FHS", "BHS")
FRAME = "\x0b\x1c"  # characters around a message in the protocol MLLP


def in_json(text: str, rules: Rules, mark: Mark, scrub: Scrub) -> str:
    """Mask a JSON text.

    Raises:
        ValueError: the text is not JSON, or is ambiguous.
    """
    value = lossless_json.loads(text)
    for rule in rules:
        value = without(value, targets.pointer(rule.target), rule.name, mark)
    manner = replace(
        lossless_json.manner_of(text), is_ascii=False
    )  # the dots of a mark are written without escapes
    return lossless_json.dumps(scrubbed(value, scrub), manner)


def without(value: Any, steps: Steps, name: str, mark: Mark) -> Any:
    """A JSON value in which the value at the end of the steps is masked."""
    if not steps:
        return mark(name)
    step, rest = steps[0], steps[1:]
    if step == DEEP:
        value = without(value, rest, name, mark) if rest else mark(name)
        return inside(value, lambda _: True, steps, name, mark)
    return inside(value, lambda one: step in (ANY, one), rest, name, mark)


def inside(
    value: Any, leads: Callable[[str], bool], steps: Steps, name: str, mark: Mark
) -> Any:
    """A JSON value; ``without`` is applied to the members that the first step leads
    to."""
    if isinstance(value, dict):
        return {
            key: without(one, steps, name, mark) if leads(key) else one
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [
            without(one, steps, name, mark) if leads(str(place)) else one
            for place, one in enumerate(value)
        ]
    return value


def scrubbed(value: Any, scrub: Scrub) -> Any:
    """A JSON value with every text, number and key scrubbed."""
    match value:
        case dict():
            return {scrub(key): scrubbed(one, scrub) for key, one in value.items()}
        case list():
            return [scrubbed(one, scrub) for one in value]
        case str():
            return scrub(value)
        case lossless_json.Number():
            after = scrub(value.text)
            return value if after == value.text else after
    return value


def in_xml(text: str, rules: Rules, mark: Mark, scrub: Scrub) -> str:
    """Mask an XML text. Comments and processing instructions are removed, as rules
    cannot name them.

    Raises:
        ValueError: the text is not XML, or has a document type.
    """
    try:
        root = fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, RecursionError) as error:
        raise ValueError(str(error)) from None
    for rule in rules:
        hide(root, targets.path(rule.target), rule.name, mark)
    for one in root.iter():
        one.text = scrub(one.text) if one.text else one.text
        one.tail = scrub(one.tail) if one.tail else one.tail
        one.attrib = {name: scrub(value) for name, value in one.attrib.items()}
    return tostring(root, encoding="unicode")


def hide(one: Element, steps: Steps, name: str, mark: Mark) -> None:
    """Mask the elements that the steps lead to; the first step is for the element
    itself."""
    step, rest = steps[0], steps[1:]
    if step == DEEP:
        hide(one, rest, name, mark)
        for child in one:
            hide(child, steps, name, mark)
        return
    if step.startswith("@"):
        hide_attributes(one, step[1:], name, mark)
    elif step in (ANY, local(str(one.tag))):
        if not rest:
            hide_all(one, mark(name))
        elif rest[0].startswith("@"):
            hide_attributes(one, rest[0][1:], name, mark)
        else:
            for child in one:
                hide(child, rest, name, mark)


def local(tag: str) -> str:
    """A name without its namespace."""
    return tag.rpartition("}")[2]


def hide_all(one: Element, mark: str) -> None:
    for child in list(one):
        one.remove(child)
    one.text = mark
    one.attrib = dict.fromkeys(one.attrib, mark)


def hide_attributes(one: Element, wanted: str, name: str, mark: Mark) -> None:
    one.attrib = {
        key: mark(name) if wanted in (ANY, local(key)) else value
        for key, value in one.attrib.items()
    }


def in_hl7(text: str, rules: Rules, mark: Mark, scrub: Scrub) -> str:
    """Mask an HL7 text.

    Raises:
        ValueError: the text is not HL7 version 2, or a line is not a segment.
    """
    fields = [(rule.name, targets.field(rule.target)) for rule in rules]
    return "".join(segments(text, fields, mark))


def segments(
    text: str, fields: Sequence[tuple[str, Hl7Field]], mark: Mark
) -> Iterator[str]:
    """The lines, masked, and the line ends."""
    separator, inner = "", ""
    for part in ENDS.split(text):
        line = part.strip(FRAME)
        if not line or ENDS.fullmatch(part):
            yield part
            continue
        if line.startswith(HEADERS) and len(line) > 4:
            separator, inner = line[3], line[4]
        if not separator or not SEGMENT.fullmatch(line.split(separator)[0]):
            raise ValueError("a line is no segment")
        before, after = part.split(line, 1)
        yield before + segment(line, separator, inner, fields, mark) + after


def segment(
    line: str,
    separator: str,
    inner: str,
    fields: Sequence[tuple[str, Hl7Field]],
    mark: Mark,
) -> str:
    values = line.split(separator)
    # In a header, the separator itself counts as the first field.
    shift = 1 if values[0] in HEADERS else 0
    for name, one in fields:
        place = one.number - shift
        if one.segment != values[0] or not 0 < place < len(values):
            continue
        values[place] = masked(values[place], inner, one.component, mark(name))
    return separator.join(values)


def masked(value: str, inner: str, component: int | None, mark: str) -> str:
    """A field with one component masked. If the field repeats, or lacks the component,
    the whole field is masked."""
    if not value:
        return value
    parts = value.split(inner)
    if component is None or len(parts) < component or "~" in value:
        return mark
    parts[component - 1] = mark
    return inner.join(parts)


READERS: dict[RedactionRule.Kind, Callable[[str, Rules, Mark, Scrub], str]] = {
    Kind.JSON: in_json,
    Kind.XML: in_xml,
    Kind.HL7: in_hl7,
}
