"""Decode a body to text, and encode it again without loss.

A body that is not certainly text in a known character set is refused.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:+-]{1,40})", re.ASCII | re.I)
KNOWN = re.compile(
    r"utf-(?:8|16|32)(?:-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[ru]|shift_jis|euc_(?:jp|kr)"
    r"|gb2312|gbk|gb18030|big5"
)
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
    mark: bytes = b""  # the byte order mark before the text

    def written(self, text: str) -> bytes:
        """Another text in the same encoding.

        Raises:
            ValueError: the character set lacks a character.
        """
        try:
            return self.mark + text.encode(self.codec)
        except UnicodeEncodeError as error:
            missing = text[error.start]
            why = f"{self.codec} has no character {missing!r} (U+{ord(missing):04X})"
            raise ValueError(why) from None


def text_of(body: bytes, content_type: str) -> Text:
    """The text of a body.

    Raises:
        ValueError: the body is not text; the reason is the end of a sentence.
    """
    if content_type == ENCODED:
        raise ValueError("it holds values of AMQP that are no text")
    codec = codec_of(content_type)
    marked = next(
        ((name, mark) for name, mark in MARKS if is_marked(body, codec, name, mark)),
        None,
    )
    name, mark = marked or (codec, b"")
    try:
        found = Text(body[len(mark) :].decode(name), name, mark)
        is_faithful = found.written(found.text) == body
    except ValueError:
        raise ValueError(f"its bytes are not {name}") from None
    if "\0" in found.text:
        raise ValueError("it has a NUL character")
    if not is_faithful:
        raise ValueError(f"as {name} it would not be written as it was")
    return found


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
    try:
        codec = codecs.lookup(named[1]).name
    except LookupError:
        codec = ""
    if not KNOWN.fullmatch(codec):
        raise ValueError(f"nobody here knows the character set {named[1]}")
    return codec


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
