"""Mask a body and properties by rules."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.formats.mq.coding import Coding
from broker.formats.text import Text, text_of
from broker.models.redaction import RedactionRule
from broker.security.redaction import targets
from broker.security.redaction.structures import READERS
from broker.security.redaction.targets import OF_BODIES, STRUCTURED

Kind = RedactionRule.Kind
Rules = Sequence[RedactionRule]

HIDDEN = "•••"
PLAIN = "***"  # mark for character sets that lack the dots of the usual mark
LONGEST = 2**20  # bytes of the largest body that is parsed for masking
GZIP = b"\x1f\x8b"
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{22,}={0,2}")


@dataclass(frozen=True, slots=True)
class MaskedBody:
    """A body after masking."""

    body: bytes
    by: tuple[str, ...] = ()  # names of the rules that masked something
    # The whole body is hidden; ``body`` has only a description.
    is_withheld: bool = False


@dataclass(slots=True)
class Marker:
    """Creates marks, and records for which rules it created them."""

    dots: str = HIDDEN
    used: dict[str, None] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        self.used[name] = None
        return f"{self.dots} masked by rule {name}"


def mask_body(
    body: bytes, content_type: str, rules: Rules, coding: Coding | None = None
) -> MaskedBody:
    """A body masked by rules. If it cannot be parsed reliably, it is replaced by its
    length, hash and content type.

    Args:
        body: the whole body.
        content_type: the content type that the sender declared.
        rules: the rules that apply to the message, of any kind.
        coding: what IBM MQ's descriptor and headers say of the body; one with headers
            at its beginning is not shown.
    """
    wanted = [rule for rule in rules if rule.kind in OF_BODIES]
    if not wanted or not body:
        return MaskedBody(body)
    try:
        if len(body) > LONGEST or is_packed(body) or (coding and coding.offset):
            raise ValueError("it is not read for masking")
        text = text_of(body, content_type, coding)
        marker = Marker(HIDDEN if has_dots(text) else PLAIN)
        after = masked_text(text.text, wanted, marker)
        return MaskedBody(
            text.written(after) if marker.used else body, tuple(marker.used)
        )
    except (ValueError, RecursionError):
        return withheld(body, content_type, wanted)


def has_dots(text: Text) -> bool:
    try:
        text.written(HIDDEN)
    except ValueError:
        return False
    return True


def is_packed(body: bytes) -> bool:
    """Whether a body is probably encoded: gzip, zlib or base64."""
    if body.startswith(GZIP):
        return True
    try:
        return bool(zlib.decompressobj().decompress(body[:256], 1))
    except zlib.error:
        bare = re.sub(rb"[\r\n]", b"", body)
        return not len(bare) % 4 and BASE64.fullmatch(bare) is not None


def marked(names: Sequence[str]) -> str:
    """The mark for a value that these rules mask."""
    many = "rules" if len(names) > 1 else "rule"
    return f"{HIDDEN} masked by {many} {', '.join(names)}"


def withheld(body: bytes, content_type: str, rules: Rules) -> MaskedBody:
    names = tuple(rule.name for rule in rules)
    digest = hashlib.sha256(body).hexdigest()
    said = f"{marked(names)}: {len(body):,} bytes of {content_type}, SHA-256 {digest}"
    return MaskedBody(said.encode(), names, is_withheld=True)


def masked_text(text: str, rules: Rules, marker: Marker) -> str:
    """A text masked by rules.

    Raises:
        ValueError: the text has none of the structures that the rules are for.
    """

    def scrub(one: str) -> str:
        return scrubbed(one, rules, marker)

    structured = {kind: of_kind(rules, kind) for kind in STRUCTURED}
    wanted = [kind for kind, some in structured.items() if some]
    for kind in wanted or STRUCTURED:
        try:
            return scrub(READERS[kind](text, structured[kind], marker, scrub))
        except (ValueError, RecursionError):
            continue
    if wanted:
        raise ValueError("it has none of the structures that rules are for")
    return scrub(text)


def of_kind(rules: Rules, kind: RedactionRule.Kind) -> list[RedactionRule]:
    return [rule for rule in rules if rule.kind == kind]


def scrubbed(text: str, rules: Rules, marker: Marker) -> str:
    """A text with all matches of the rules' regular expressions masked."""
    for rule in of_kind(rules, Kind.PATTERN):
        text = "".join(pieces(text, rule, marker))
    return text


def pieces(text: str, rule: RedactionRule, marker: Marker) -> Iterator[str]:
    at = 0
    for found in targets.expression(rule.target).finditer(text):
        if found.start() == found.end():
            continue
        yield text[at : found.start()]
        yield marker(rule.name)
        at = found.end()
    yield text[at:]


def mask_text(text: str, rules: Rules) -> str:
    return scrubbed(text, rules, Marker())


def mask_properties(
    properties: Mapping[str, Any], rules: Rules
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Properties masked by rules, and the names of these rules."""
    marker = Marker()
    seen = {
        name: mask_property(name, value, rules, marker)
        for name, value in properties.items()
    }
    return seen, tuple(marker.used)


def mask_property(name: str, value: Any, rules: Rules, marker: Marker) -> Any:
    for rule in of_kind(rules, Kind.PROPERTY):
        if name and targets.property_name(rule.target).fullmatch(name):
            return marker(rule.name)
    if isinstance(value, dict):
        return {
            key: mask_property("", one, rules, marker) for key, one in value.items()
        }
    if isinstance(value, list):
        return [mask_property("", one, rules, marker) for one in value]
    if value is None or isinstance(value, bool):
        return value
    after = scrubbed(str(value), rules, marker)
    return value if after == str(value) else after
