"""The commands of an MQSC script, read as ``runmqsc`` reads it.

A line that ends with ``+`` goes on with the first character of the next line that is
not blank, one that ends with ``-`` with its first character. A line that begins with
``*`` is a comment, also between two that belong together. ``;`` ends a command. Names
and values that are not quoted are folded to upper case. ``END`` ends the script. A
command that cannot be read is refused, and the next one is read. The commands
``setmqaut`` that ``dmpmqcfg -o setmqaut`` writes are read, too.

Source:
    IBM MQ, "Rules for using MQSC commands", "Building command scripts", "runmqsc",
    "setmqaut", "dmpmqcfg".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from broker.formats.inventory import Path

VALUE = r"(?:'(?:[^']|'')*+'|[^()']|\([^()']*\))*+"
TOKEN = re.compile(rf"[\s,]*([A-Za-z][A-Za-z0-9_]*)\s*(?:\(({VALUE})\))?")
ITEM = re.compile(r"\s*('(?:[^']|'')*+'|[^,']+)\s*,?")
QUOTED = re.compile(r"'((?:[^']|'')*+)'")
PIECE = re.compile(r"(?:'(?:[^']|'')*+'|[^;'])++")
ENDS = ("END", "EXIT", "QUIT")
VERBS = {"DEF": "DEFINE", "ALT": "ALTER", "DIS": "DISPLAY", "STA": "START"}
KINDS = {
    "QL": "QLOCAL", "QA": "QALIAS", "QM": "QMODEL", "QR": "QREMOTE", "Q": "QUEUE",
    "CHL": "CHANNEL", "NL": "NAMELIST", "PRO": "PROCESS", "LSTR": "LISTENER",
}  # fmt: skip
KNOWN = {
    *("DEFINE", "ALTER", "DELETE", "SET", "DISPLAY", "CLEAR", "START", "STOP"),
    *("REFRESH", "RESET", "RESOLVE", "RESUME", "SUSPEND", "PING", "MOVE", "PURGE"),
    *("ARCHIVE", "BACKUP", "RECOVER", "RVERIFY"),
}
SECRET = re.compile(r"PASS|PWD|TOKEN|SECRET")
SETMQAUT = {
    "-m": "QMNAME", "-n": "PROFILE", "-t": "OBJTYPE", "-p": "PRINCIPAL", "-g": "GROUP",
    "-s": "SERVCOMP",
}  # fmt: skip
TYPES = {"Q": "QUEUE", "QUEUE": "QUEUE", "T": "TOPIC", "TOP": "TOPIC"}
SHOWN = 50  # most characters of a value that a comment shows


@dataclass(frozen=True, slots=True)
class Command:
    """One command; or a text that is none, with its verb empty."""

    number: int  # number of the command in the script
    line: int  # line where it begins
    verb: str = ""
    kind: str = ""
    name: str = ""
    # The text in parentheses, by keyword in upper case; None: a keyword without
    # parentheses.
    keywords: Mapping[str, str | None] = field(default_factory=dict)
    text: str = ""

    @property
    def head(self) -> Path:
        """The path of the command's verb and name."""
        return self.number, f"{self.verb} {self.kind}".strip() or "This"

    def path(self, keyword: str) -> Path:
        return self.number, keyword

    @property
    def paths(self) -> Iterator[Path]:
        yield self.head
        yield from map(self.path, self.keywords)

    def having(self, *keywords: str) -> list[Path]:
        """The paths of the given keywords that the command has."""
        return [self.path(one) for one in keywords if one in self.keywords]

    def value(self, keyword: str) -> str:
        """The value of a keyword, without quotes; empty if there is none."""
        return plain(self.keywords.get(keyword) or "")

    def values(self, keyword: str) -> list[str]:
        """The values of a keyword that has a list."""
        items = ITEM.findall(self.keywords.get(keyword) or "")
        return [plain(one) for one in items if plain(one)]

    def place(self, path: Path) -> str:
        """A path of this command, in words; values that may be secret are left out."""
        begin = f"line {self.line}, "
        if not self.verb:
            return f"{begin}“{shortened(self.text)}”"
        name = f"({self.name})" if self.name else ""
        if path in ((self.number,), self.head):
            return f"{begin}{self.verb} {self.kind}{name}"
        word = str(path[1])
        value = self.keywords[word]
        hidden = "(…)" if SECRET.search(word) else f"({shortened(value or '')})"
        return f"{begin}{self.kind}{name} {word}{'' if value is None else hidden}"


def shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def plain(value: str) -> str:
    """A value without its quotes; what is not quoted is folded to upper case."""
    found = QUOTED.fullmatch(value.strip())
    text = found[1].replace("''", "'") if found else value.strip().upper()
    return text.rstrip()


def read(text: str) -> list[Command]:
    """All commands of a script, and the lines after its end as texts."""
    found: list[Command] = []
    ended = False
    for line, content in commands(text):
        one = parsed(len(found), line, content)
        found.append(Command(len(found), line, text=content) if ended else one)
        ended = ended or one.verb in ENDS
    return found


def commands(text: str) -> Iterator[tuple[int, str]]:
    """The text of each command, with the number of the line where it begins."""
    for line, whole in joined(text.splitlines()):
        pieces = PIECE.findall(whole) if whole.count("'") % 2 == 0 else [whole]
        yield from ((line, one.strip()) for one in pieces if one.strip())


def joined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each command's lines joined to one, with the number of the first line."""
    waiting, begins = "", 0
    for number, line in enumerate(lines, 1):
        content = line.strip()
        if line.startswith("*") or not content:
            continue
        if not waiting:
            # A comment of a shell; no command begins with #.
            if content.startswith("#"):
                continue
            begins = number
        # After a + the next line goes on with its first character that is not blank.
        rest = content if waiting.endswith("+") else line.rstrip()
        waiting = waiting[:-1] + rest
        if rest[-1:] not in ("+", "-"):
            yield begins, waiting
            waiting = ""
    if waiting:
        yield begins, waiting[:-1]


def parsed(number: int, line: int, text: str) -> Command:
    """A command; if it cannot be read, only its text."""
    if text.startswith("setmqaut"):
        return authority(number, line, text)
    found = tokens(text)
    verb = VERBS.get(found[0][0], found[0][0]) if found else ""
    if len(found) == 1 and verb in ENDS:
        return Command(number, line, verb)
    if len(found) < 2 or verb not in KNOWN:
        return Command(number, line, text=text)
    (word, name), keywords = found[1], dict(found[2:])
    if len(keywords) < len(found) - 2:  # A command with a repeated keyword is not read.
        return Command(number, line, text=text)
    kind = KINDS.get(word, word)
    return Command(number, line, verb, kind, plain(name or ""), keywords)


def tokens(text: str) -> list[tuple[str, str | None]]:
    """Keywords in upper case, each with the text in its parentheses; nothing if a part
    of the text is neither."""
    found: list[tuple[str, str | None]] = []
    at = 0
    while at < len(text.rstrip(" \t,")):
        token = TOKEN.match(text, at)
        if token is None:
            return []
        found.append((token[1].upper(), token[2]))
        at = token.end()
    return found


def authority(number: int, line: int, text: str) -> Command:
    """A command ``setmqaut`` as the equivalent SET AUTHREC."""
    try:
        words = shlex.split(text)[1:]
    except ValueError:
        words = []
    said: dict[str, list[str]] = {}
    waiting = ""
    for word in words:
        if waiting:
            said.setdefault(waiting, []).append(word)
            waiting = ""
        elif word in SETMQAUT:
            waiting = SETMQAUT[word]
        elif word[:1] in "+-" and word[1:]:
            key = "AUTHADD" if word[0] == "+" else "AUTHRMV"
            said.setdefault(key, []).append(word[1:].upper())
        else:
            return Command(number, line, text=text)
    if not said or waiting:
        return Command(number, line, text=text)
    for kind in said.get("OBJTYPE", [])[:1]:
        said["OBJTYPE"] = [TYPES.get(kind.upper(), kind.upper())]
    quoted = {k: ",".join(f"'{each}'" for each in v) for k, v in said.items()}
    return Command(number, line, "SET", "AUTHREC", keywords=quoted)
