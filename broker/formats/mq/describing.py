"""Descriptors and headers as text for pages; codes are shown with their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum, IntFlag
from itertools import islice

from django.utils.translation import gettext, gettext_noop

from broker.errors.mq_codes import (
    EXPIRY_UNLIMITED,
    Ccsid,
    Enc,
    Feedback,
    MsgFlags,
    MsgType,
    Persistence,
    PutApplType,
    Reason,
    Report,
)
from broker.formats.mq.chain import Chain, Header
from broker.formats.mq.descriptor import Descriptor
from broker.formats.mq.fixed import readable_text
from broker.formats.mq.folders import Element
from broker.formats.mq.layouts import PlainHeader
from broker.formats.mq.report_options import KINDS_OF_REPORT
from broker.formats.mq.rfh2 import Rfh2

LONGEST = 1_000  # most characters of a value
MOST = 500  # most fields of a section
ROW = 16  # bytes shown in a row

CODES: Mapping[str, tuple[type[IntEnum], ...]] = {
    "coded_char_set_id": (Ccsid,),
    "feedback": (Feedback, Reason),
    "msg_type": (MsgType,),
    "name_value_ccsid": (Ccsid,),
    "persistence": (Persistence,),
    "put_appl_type": (PutApplType,),
    "reason": (Reason, Feedback),
}
ENCODINGS: Mapping[int, str] = {
    Enc.NORMAL: gettext_noop("big-endian"),
    Enc.REVERSED: gettext_noop("little-endian"),
}
NAMES = {"name_value_ccsid": "NameValueCCSID"}


@dataclass(frozen=True, slots=True)
class Section:
    """One header: its name, and its fields with their values."""

    name: str
    fields: tuple[tuple[str, str], ...]


def describe(chain: Chain) -> list[Section]:
    """A section for each header of a chain, and for a header that cannot be read."""
    sections = [section(header.name, fields_of(header)) for header in chain.headers]
    if chain.error is not None:
        sections.append(section(gettext("Malformed header"), malformed(chain)))
    elif not chain.is_whole:
        words = gettext("%(format)s (not decoded)")
        sections.append(section(words % {"format": chain.body.format}, octets(chain)))
    return sections


def describe_descriptor(descriptor: Descriptor) -> Section:
    return section("MQMD", plain_fields(descriptor))


def section(name: str, found: Iterable[tuple[str, str]]) -> Section:
    found = iter(found)
    kept = [(readable(field), readable(value)) for field, value in islice(found, MOST)]
    if more := sum(1 for _ in found):
        kept.append(("…", gettext("and %(n)s more") % {"n": f"{more:,}"}))
    return Section(name, tuple(kept))


def readable(text: str) -> str:
    """A text for a page: cut, and without unprintable characters."""
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return "\n".join(
        map(readable_text, cut.replace("\0", "\N{SYMBOL FOR NULL}").split("\n"))
    )


def fields_of(header: Header) -> Iterator[tuple[str, str]]:
    yield from plain_fields(header)
    if isinstance(header, Rfh2):
        for folder in header.folders:
            yield from properties(folder.root, "")


def plain_fields(value: Descriptor | Header) -> Iterator[tuple[str, str]]:
    if isinstance(value, PlainHeader):
        for field_name, one in value.fields:
            yield ibm_name(field_name), text_of(field_name, one)
        return
    for field in fields(value):
        if field.name != "folders":
            yield ibm_name(field.name), text_of(field.name, getattr(value, field.name))


def properties(element: Element, path: str) -> Iterator[tuple[str, str]]:
    """The properties below an element, named with the names of their groups."""
    name = f"{path}{element.name}"
    if isinstance(element.value, tuple):
        for inner in element.value:
            yield from properties(inner, f"{name}.")
    else:
        yield name, value_of(element)


def value_of(element: Element) -> str:
    if element.value is None:
        return "(null)"
    if isinstance(element.value, bool):
        return "true" if element.value else "false"
    if isinstance(element.value, bytes):
        return element.value.hex()
    return str(element.value)


def malformed(chain: Chain) -> Iterator[tuple[str, str]]:
    yield gettext("Fault"), str(chain.error)
    yield from octets(chain)


def octets(chain: Chain) -> Iterator[tuple[str, str]]:
    """The first bytes of a header that cannot be read, sixteen in a row."""
    for start in range(0, len(chain.rest), ROW):
        yield f"{chain.body_offset + start:06x}", chain.rest[start:][:ROW].hex(" ")


def text_of(name: str, value: str | int | bytes) -> str:
    """A field's value as text, with its meaning if that is known."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return value
    return f"{value} {meaning}" if (meaning := meaning_of(name, value)) else f"{value}"


def meaning_of(name: str, value: int) -> str:
    if name == "report":
        return " + ".join(report_options(value))
    if name == "msg_flags":
        return " + ".join(names_of_bits(value, MsgFlags))
    if name == "encoding":
        return gettext(ENCODINGS[value]) if value in ENCODINGS else ""
    if name == "expiry":
        is_unlimited = value == EXPIRY_UNLIMITED
        return gettext("unlimited") if is_unlimited else gettext("tenths of a second")
    known = (kind(value).name for kind in CODES.get(name, ()) if value in set(kind))
    return next(known, "")


def report_options(report: int) -> Iterator[str]:
    """The names of the report options; unknown bits are shown as a number."""
    for mask, patterns in KINDS_OF_REPORT.items():
        if (bits := report & mask) in (*patterns, mask):
            yield str(Report(bits).name)
            report &= ~mask
    yield from names_of_bits(report, Report)


def names_of_bits(value: int, flags: type[IntFlag]) -> Iterator[str]:
    for flag in flags:
        if value & flag:
            yield str(flag.name)
            value &= ~flag
    if value:
        yield f"{value & 0xFFFFFFFF:#x}"


def ibm_name(name: str) -> str:
    """The name of a field in IBM's manuals: PutApplName for ``put_appl_name``."""
    return NAMES.get(name, name.title().replace("_", ""))
