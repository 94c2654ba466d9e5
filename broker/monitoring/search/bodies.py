"""Texts as they stand in bodies: the patterns of a search, by character set.

A body is read in the character set of its content type, or that of IBM MQ's last
header or descriptor. PostgreSQL knows few of them, so each pattern is encoded here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from encodings.aliases import aliases
from functools import cache

from psycopg.sql import SQL

from broker.errors.mq_codes import Enc
from broker.formats.filters.paths import Steps
from broker.formats.filters.values import Alternative, Is, Text
from broker.formats.mq import ccsids

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?")
ELEMENT = re.compile("-?[0-9]+")
SPECIAL = re.compile(rb"([\\%_])")
BASIS = "utf-8"  # character set of bodies that name none
# The character set of a body as a key of ``patterns``: its name, or a CCSID.
KEY = SQL(r"""coalesce(
    regexp_replace(lower(substring(
        message.content_type FROM '(?i)charset\s*=\s*"?([\w.:+-]+)')),
        '[^a-z0-9]', '', 'g'),
    message.descriptor ->> 'coded_char_set_id')""")
# Whether headers before the body may name another character set, which SQL cannot read.
HAS_HEADERS = SQL(r"""(message.headers IS NOT NULL
    OR message.descriptor ->> 'format' ~ '^(MQDEAD|MQH|MQCICS|MQIMS)')""")
NAMES_ONE = SQL(r"""(message.descriptor IS NOT NULL OR message.headers IS NOT NULL
    OR message.content_type ~* 'charset\s*=\s*"?(?!utf-?8)')""")


def patterns(text: Text) -> dict[bytes, list[str]]:
    """The patterns of a text in all character sets but UTF-8, each with the keys of the
    bodies in which it is this text."""
    found: dict[bytes, list[str]] = {}
    usual = pattern(text, BASIS)
    for codec, keys in codecs_by_keys().items():
        one = pattern(text, codec)
        if one is not None and one != usual:
            found.setdefault(one, []).extend(keys)
    return found


def pattern(text: Text, codec: str) -> bytes | None:
    """The text anywhere in a body; None if the character set lacks a character."""
    try:
        parts = [SPECIAL.sub(rb"\\\1", part.encode(codec)) for part in text.parts]
    except UnicodeEncodeError:
        return None
    return b"%" + b"%".join(parts) + b"%"


def in_json(steps: Steps, alternatives: Sequence[Alternative]) -> list[list[bytes]]:
    """Groups of patterns: a JSON body that has one of these values at a path has one
    pattern of each group, if it has no backslash."""
    names = [one for one in steps if one is not None and not ELEMENT.fullmatch(one)]
    groups = [[holding(json.dumps(one, ensure_ascii=False))] for one in names[-1:]]
    texts = [
        one.value.parts[0]
        for one in alternatives
        if isinstance(one, Is) and isinstance(one.value, Text) and one.value.is_exact
    ]
    # A number may be written in many ways.
    if len(texts) == len(alternatives) and not any(map(NUMBER.fullmatch, texts)):
        groups.append(
            [
                holding(one if is_literal(one) else json.dumps(one, ensure_ascii=False))
                for one in texts
            ]
        )
    return groups


def is_literal(text: str) -> bool:
    """Whether a text is also a number or boolean of JSON."""
    return text in ("true", "false") or NUMBER.fullmatch(text) is not None


def holding(text: str) -> bytes:
    return b"%" + SPECIAL.sub(rb"\\\1", text.encode()) + b"%"


@cache
def codecs_by_keys() -> dict[str, list[str]]:
    """The keys of each codec."""
    found: dict[str, list[str]] = {}
    for number in ccsids.KNOWN:
        for encoding in (Enc.NORMAL, Enc.REVERSED):
            keys = found.setdefault(ccsids.codec_of(number, encoding), [])
            keys.extend(one for one in keys_of(number) if one not in keys)
    for codec, keys in found.items():
        keys.extend(name for name in names_of(codec) if name not in keys)
    return found


def keys_of(number: int) -> Iterator[str]:
    yield str(number)
    if number in ccsids.EBCDIC:
        yield from (f"{name}{number:03}" for name in ("ibm", "cp", "ccsid"))


def names_of(codec: str) -> Iterator[str]:
    """The names of a character set in content types, without signs."""
    module = codec.replace("-", "_")
    yield bare(codec)
    yield from (bare(name) for name, of in aliases.items() if of == module)
    if codec.startswith(("utf-16", "utf-32")):
        yield bare(codec[:6])


def bare(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
