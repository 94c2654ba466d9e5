"""Indents JSON and XML; nothing but white space changes.

A parser checks that the text is well-formed. Then only line breaks and blanks are added
to the original text, so digits, prefixes, comments and duplicate keys stay visible.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NoReturn
from xml.parsers import expat

LONGEST = 64 * 2**10  # characters; the rest is not processed

JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
XML_TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    r"|<(?:[^>\"']|\"[^\"]*\"|'[^']*')*>|[^<]+",
    re.DOTALL,
)
XML_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)""")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def indented_json(body: bytes) -> str:
    """JSON, indented; cut soon after ``LONGEST`` characters."""
    whole = body.decode("utf-8-sig")
    json.loads(whole, parse_int=str, parse_float=str, parse_constant=refuse_constant)
    return first_of(json_pieces(whole))


def json_pieces(whole: str) -> Iterator[str]:
    depth, before = 0, ""
    for found in JSON_TOKEN.finditer(whole):
        part = found[0]
        closes = part in ("}", "]")
        depth -= closes
        is_empty = closes and before in ("{", "[")
        if (closes and not is_empty) or (not closes and before in ("{", "[", ",")):
            yield "\n" + "  " * depth
        yield ": " if part == ":" else readable(part)
        depth += part in ("{", "[")
        before = part


def readable(part: str) -> str:
    """A JSON string without escapes, if all its characters are visible."""
    if not part.startswith('"') or "\\" not in part:
        return part
    plain = json.dumps(json.loads(part), ensure_ascii=False)
    return plain if plain.isprintable() else part


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def indented_xml(body: bytes) -> str:
    """XML without a DTD, indented; cut soon after ``LONGEST`` characters."""
    # A byte order mark takes precedence over the encoding in the XML declaration.
    encoding = "utf-8" if body.startswith(codecs.BOM_UTF8) else None
    parser = expat.ParserCreate(encoding, namespace_separator="}")
    parser.StartDoctypeDeclHandler = refuse_dtd
    try:
        parser.Parse(body, True)  # noqa: FBT003  # it is all
    except expat.ExpatError as error:
        raise ValueError(str(error)) from None
    pieces = xml_pieces(found[0] for found in XML_TOKEN.finditer(in_text(body)))
    return first_of(pieces).lstrip("\n")


def refuse_dtd(*_: object) -> NoReturn:
    """Refuse a DTD, so that no entity is expanded or fetched."""
    raise ValueError("it declares a DTD, which is not read here")


def xml_pieces(tokens: Iterable[str]) -> Iterator[str]:
    """Indented pieces. An element with text only stays on one line, unchanged."""
    depth, on_line = 0, False  # on_line: only text has followed the last start tag
    for token, after in pairwise(chain(tokens, [""])):
        closes = token.startswith("</")
        if is_text(token):
            on_line = on_line and after.startswith("</")
            if not on_line and token.strip():
                yield "\n" + "  " * depth
            yield token if on_line else token.strip()
            continue
        depth -= closes
        if not (closes and on_line):
            yield "\n" + "  " * depth
        yield token
        on_line = starts(token)
        depth += on_line


def is_text(token: str) -> bool:
    return not token.startswith("<") or token.startswith("<![CDATA[")


def starts(token: str) -> bool:
    return token[1:2] not in "/!?" and not token.endswith("/>")


def in_text(body: bytes) -> str:
    """The decoded text of a well-formed document, by its BOM or XML declaration."""
    if body.startswith(UTF_16):
        return body.decode("utf-16")
    declared = None if body.startswith(codecs.BOM_UTF8) else XML_ENCODING.match(body)
    return body.decode(declared[1].decode() if declared else "utf-8-sig")


def first_of(pieces: Iterable[str]) -> str:
    """The pieces as one text, up to a little beyond ``LONGEST``."""
    taken, length = [], 0
    for piece in pieces:
        taken.append(piece)
        length += len(piece)
        if length > LONGEST:
            break
    return "".join(taken)
