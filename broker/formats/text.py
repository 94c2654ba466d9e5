"""Decode a body to text, and encode it again without loss.

A body that is not certainly text in a known character set is refused.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from broker.formats.mq import ccsids
from broker.formats.mq.coding import Coding, by_mark
from broker.formats.mq.descriptor import TEXTUAL

CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:+-]{1,40})", re.ASCII | re.I)
KNOWN = re.compile(
    r"utf-(?:8|16|32)(?:-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[ru]|shift_jis|euc_(?:jp|kr)"
    r"|gb2312|gbk|gb18030|big5"
)
OF_IBM = re.compile(r"(?:ibm|cp|ccsid)[-_]?(\d{1,5})", re.ASCII | re.I)
MARKS = (  # byte order marks; longer marks come before shorter ones
    ("utf-32-le", codecs.BOM_UTF32_LE),
    ("utf-32-be", codecs.BOM_UTF32_BE),
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
)
ENCODED = "application/vnd.oasis.amqp"  # content type of encoded AMQP values
LINE_END = re.compile(r"\r\n|\n|\r")
# Most lines to compare, and most pairs of equal lines.
MOST_LINES, MOST_PAIRS = 40_000, 2**17


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a body, and its encoding."""

    text: str
    codec: str
    before: bytes = b""  # a byte order mark, or headers of IBM MQ, before the text

    def written(self, text: str) -> bytes:
        """Another text in the same encoding.

        Raises:
            ValueError: the character set lacks a character.
        """
        try:
            return self.before + text.encode(self.codec)
        except UnicodeEncodeError as error:
            missing = text[error.start]
            name = ccsids.label(self.codec)
            why = f"{name} has no character {missing!r} (U+{ord(missing):04X})"
            raise ValueError(why) from None


def text_of(body: bytes, content_type: str, coding: Coding | None = None) -> Text:
    """The text of a body.

    A character set in the content type comes first, then that of IBM MQ.

    Args:
        body: the body.
        content_type: as its sender declared it.
        coding: what IBM MQ's descriptor and headers say of it.

    Raises:
        ValueError: the body is not text; the reason is the end of a sentence.
    """
    return found_in(body, content_type, coding, faithful)


def read(body: bytes, content_type: str, coding: Coding | None) -> str:
    """As ``text_of``, of a body that will not be written again: it may have NUL, and
    bytes for which the character set has others, too.

    Raises:
        ValueError: it is not text; the reason is the end of a sentence.
    """
    return found_in(body, content_type, coding, decoded).text


def beginning_of(head: bytes, content_type: str, coding: Coding | None) -> str:
    """The text at the beginning of a body, whose last character may be cut in two.

    Raises:
        ValueError: it is not text; the reason is the end of a sentence.
    """
    if coding is not None and not CHARSET.search(content_type):
        return coding.beginning(head[coding.offset :])
    for codec in dict.fromkeys((codec_of(content_type), "utf-8")):
        with suppress(UnicodeDecodeError):
            return codecs.getincrementaldecoder(codec)().decode(head)
    raise ValueError(f"its bytes are not {codec_of(content_type)}")


def found_in(
    body: bytes,
    content_type: str,
    coding: Coding | None,
    reader: Callable[[bytes, str], Text],
) -> Text:
    if content_type == ENCODED:
        raise ValueError("it holds values of AMQP that are no text")
    if coding is None:
        return reader(body, codec_of(content_type))
    head, rest = body[: coding.offset], body[coding.offset :]
    if CHARSET.search(content_type):
        with suppress(ValueError):
            found = reader(rest, codec_of(content_type))
            return replace(found, before=head + found.before)
    found = reader(rest, by_mark(rest, coding.codec))
    return replace(found, before=head + found.before)


def faithful(body: bytes, codec: str) -> Text:
    """The text of a body in this encoding.

    Raises:
        ValueError: it is no text in it, or would not be written as it was.
    """
    found = decoded(body, codec)
    if "\0" in found.text:
        raise ValueError("it has a NUL character")
    if found.written(found.text) != body:
        name = ccsids.label(found.codec)
        raise ValueError(f"as {name} it would not be written as it was")
    return found


def decoded(body: bytes, codec: str) -> Text:
    """The text of a body to be read only: also text that would be written otherwise.

    Raises:
        ValueError: its bytes are no text in this encoding.
    """
    marked = next(
        ((name, mark) for name, mark in MARKS if is_marked(body, codec, name, mark)),
        None,
    )
    name, mark = marked or (codec, b"")
    try:
        return Text(body[len(mark) :].decode(name), name, mark)
    except ValueError:
        raise ValueError(f"its bytes are not {ccsids.label(name)}") from None


def is_marked(body: bytes, codec: str, name: str, mark: bytes) -> bool:
    """Whether a body begins with a byte order mark of its character set."""
    return name.startswith(codec.removesuffix("-le").removesuffix("-be")) and (
        body.startswith(mark) and (codec == name or len(codec) < len(name))
    )


def codec_of(content_type: str) -> str:
    """The codec of a content type; UTF-8 if it names no character set.

    Raises:
        ValueError: the character set is unknown.
    """
    named = CHARSET.search(content_type)
    if named is None:
        return "utf-8"
    if of_ibm := OF_IBM.fullmatch(named[1]):
        return ccsids.codec_of(int(of_ibm[1]))
    try:
        codec = codecs.lookup(named[1]).name
    except LookupError:
        codec = ""
    if not KNOWN.fullmatch(codec):
        raise ValueError(f"nobody here knows the character set {named[1]}")
    return codec


def declared(content_type: str, coding: Coding | None) -> str:
    """The content type with the character set that IBM MQ's descriptor or headers name,
    for receivers that do not get these."""
    if coding is None or not is_textual(content_type, coding):
        return content_type
    if CHARSET.search(content_type) or coding.offset:
        return content_type
    with suppress(ValueError):
        if coding.codec != "utf-8":
            return f"{content_type}; charset={ccsids.charset(coding.codec)}"
    return content_type


def is_textual(content_type: str, coding: Coding | None) -> bool:
    """Whether a body is declared as text, by its type or by IBM MQ's format."""
    if content_type.strip().lower().startswith(TEXTUAL):
        return True
    return coding is not None and coding.is_string


def with_ends_of(original: str, typed: str) -> str:
    """A text from a browser, with the line ends of its original.

    Browsers normalize line ends. An unchanged or changed line gets its original line
    end; a new line gets the line end of the line before it.
    """
    before, after = lines_of(original), lines_of(typed)
    ends = [end for _, end in before[:-1]]
    usual = Counter(ends).most_common(1)[0][0] if ends else "\n"
    known = dict(paired([line for line, _ in before], [line for line, _ in after]))
    written, last = [], ends[0] if ends else usual
    for place, (line, _) in enumerate(after[:-1]):
        one = known.get(place)
        last = before[one][1] or last if one is not None else last
        written.append(line + last)
    return "".join(written) + after[-1][0]


def lines_of(text: str) -> list[tuple[str, str]]:
    """The lines, each with its line end; the last line has none, and may be empty."""
    lines, at = [], 0
    for end in LINE_END.finditer(text):
        lines.append((text[at : end.start()], end[0]))
        at = end.end()
    return [*lines, (text[at:], "")]


def paired(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of indexes of unchanged or changed lines: in ``after``, and in
    ``before``."""
    for _, i1, i2, j1, j2 in opcodes(before, after):
        yield from zip(range(j1, j2), range(i1, i2), strict=False)


Opcode = tuple[str, int, int, int, int]  # an edit operation of difflib


def opcodes(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """The edit operations from the first text to the second, in bounded time.

    Equal lines at the beginning and at the end are not compared again. If too many
    lines remain between them, these are replaced as a whole.
    """
    least = min(len(before), len(after))
    head = next((i for i in range(least) if before[i] != after[i]), least)
    room = least - head
    tail = next((i for i in range(room) if before[-1 - i] != after[-1 - i]), room)
    a, b = before[head : len(before) - tail], after[head : len(after) - tail]
    found: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    if is_little(a, b):
        middle = SequenceMatcher(None, a, b).get_opcodes()
        found += [
            (tag, i1 + head, i2 + head, j1 + head, j2 + head)
            for tag, i1, i2, j1, j2 in middle
        ]
    else:
        found.append(("replace", head, head + len(a), head, head + len(b)))
    if tail:
        ends = (len(before), len(after))
        found.append(("equal", ends[0] - tail, ends[0], ends[1] - tail, ends[1]))
    return found


def is_little(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether two texts can be compared fast. Lines that repeat in both texts are
    slow."""
    if len(a) + len(b) > MOST_LINES:
        return False
    in_a, in_b = Counter(a), Counter(b)
    return sum(count * in_b[line] for line, count in in_a.items()) <= MOST_PAIRS
