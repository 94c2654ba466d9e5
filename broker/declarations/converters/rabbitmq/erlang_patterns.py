"""Regular expressions of policies and permissions, as RabbitMQ reads them.

Source:
    Erlang, module ``re``: those of PCRE, on bytes; they may match within a name.
    RabbitMQ, "Access Control": an empty one matches nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "word": r"\w",
    "space": r"\s",
    "blank": r" \t",
    "xdigit": "0-9a-fA-F",
    "punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
}
TOKEN = re.compile(
    r"\\Q(?P<plain>.*?)(?:\\E|\Z)|\\(?P<escaped>.)|\[:(?P<class>\w+):\]|(?P<one>.)",
    re.S,
)
ESCAPES = {"h": r"[ \t]", "Z": r"(?=\n?\Z)", "z": r"\Z", "R": r"(?:\r\n|\n|\r)"}
NAME = r"(?:[A-Za-z0-9_-]|\\[.-])+"


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A regular expression that is looked for in names."""

    text: str
    found: re.Pattern[str] | None  # None: Python cannot read the expression

    @classmethod
    def of(cls, text: str) -> NamePattern:
        try:
            return cls(text, re.compile(as_python(text), re.ASCII))
        except re.error:
            return cls(text, None)

    def matches(self, name: str) -> bool:
        return self.found is not None and self.found.search(name) is not None


def as_python(text: str) -> str:
    """The expression as Python's ``re`` reads it."""
    options = re.match(r"\(\?[imsx]+\)", text)
    start = options.end() if options else 0
    # Within: how many characters of a set were read; 0: outside of a set.
    out, within = [text[:start]], 0
    for token in TOKEN.finditer(text, start):
        plain, escaped, name, one = token.group("plain", "escaped", "class", "one")
        if plain is not None:
            out.append(re.escape(plain))
        elif name is not None and within:
            out.append(CLASSES.get(name, token[0]))
        elif escaped is not None:
            out.append(token[0] if within else ESCAPES.get(escaped, token[0]))
        elif name is not None:
            # Outside of a set, [:name:] is a set of these characters.
            out.append("[" + token[0][1:].replace("[", r"\["))
        else:
            out.append(rf"\{one}" if within and one in "[&~|" else one)
        within = in_set(within, one, escaped or name or plain)
    return "".join(out)


def in_set(within: int, one: str | None, other: str | None) -> int:
    """How many characters of a set were read so far; 0: outside of a set."""
    if not within:
        return 1 if one == "[" else 0
    if one == "]" and within > 1:
        return 0
    return within if one == "^" and within == 1 else within + 1


def patterns_of(expression: str) -> list[str] | None:
    """Patterns of this broker that match the same names; None: there are none such.

    ``orders.#`` matches ``orders`` too, which ``^orders\\..*`` does not.
    """
    if expression in ("", "^$"):
        return []
    if re.fullmatch(r"\^?\.\*\$?", expression):
        return ["#"]
    listed = re.fullmatch(rf"\^\(((?:{NAME}|\|)+)\)\$", expression)
    if listed:
        return [plain(one) for one in listed[1].split("|") if one]
    if re.fullmatch(rf"\^{NAME}\$", expression):
        return [plain(expression[1:-1])]
    stem = re.fullmatch(rf"\^({NAME})\\\.\.[*+]\$?", expression)
    return [f"{plain(stem[1])}.#"] if stem else None


def plain(text: str) -> str:
    return text.replace("\\", "")
