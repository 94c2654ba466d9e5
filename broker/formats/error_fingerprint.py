"""Fingerprints of errors: equal for errors that differ only in numbers and names.

Dead letters are grouped by error: a thousand messages with "row 17", "row 18" … have
one problem. The variable parts of the text are replaced by placeholders; the result is
the pattern of the group.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

LONGEST = 1000  # most characters of an error that are stored

MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?[AP]M\b)?"
ZONE = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"
ENDS = "com|net|org|internal|local|localdomain|lan|corp"  # last parts of host names

# The first alternative that matches applies, so "keep" comes before its own parts.
VARIABLES = {
    "keep": r"(?i:\b(?:status(?: code)?|http(?:/\d(?:\.\d)?)?)[ :=]{1,2}[1-5]\d\d\b)",
    # Most languages write quotes within quotes as \"; some write them without a
    # backslash.
    "text": r"""(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|(?<!\w)'[^']*'"""
    r"""|"(?:[^"\\]|\\.)*"|"[^"]*"|“[^”]*”|\u2018[^’]*’|«[^»]*»|`[^`]*`""",
    "url": r"""(?i:\b[a-z][a-z0-9+.-]{1,15}://[^\s"'`”’»<>]+)""",
    "email": r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "id": r"(?i:\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)",
    "pod": r"(?<=\w-)[a-f0-9]{8,10}-[a-z0-9]{5}\b",
    "time": rf"\b\d{{4}}[-/]\d\d?[-/]\d\d?(?:[T ]{CLOCK}{ZONE})?(?![\w-])"
    rf"|\b{DAY}{MONTH} \d{{1,2}}(?:,? \d{{4}})?(?:,? {CLOCK})?(?: [A-Z]{{3,4}})?"
    r"(?: \d{4})?\b"
    rf"|\b{DAY}\d{{1,2}}[ /-]{MONTH}[ /-]\d{{4}}(?:[ :]{CLOCK})?{ZONE}"
    rf"|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}(?:,? {CLOCK})?(?!\w)"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M\b)?(?!\w)",
    "host": r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.])"
    r"|(?i:\[(?=[0-9a-f:.]*\d)[0-9a-f.]*(?::[0-9a-f.]*){2,}(?:%\w+)?\](?::\d{1,5})?)"
    r"|(?i:(?<![\w:])(?=[0-9a-f:]*\d)(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:]))"
    rf"|(?i:(?<![\w.-])(?:[a-z0-9_-]+\.)+(?:{ENDS})\b(?![\w(-]|\.\w)(?::\d{{1,5}})?)",
    "path": r"(?<![\w.:/\\])/(?:[\w.@%+~=-]+/)+[\w.@%+~=-]*"
    r"""|(?i:\b[a-z]:\\(?:[^\s\\"'<>|]+\\)*[^\s\\"'<>|:]*)""",
    # One placeholder for ids and numbers: an id may have no letter, and a number may be
    # long.
    "n": r"(?i:\b(?:0x)?(?=[0-9a-f]*\d)[0-9a-f]{8,}\b(?![.,]\d)|\b0x[0-9a-f]+\b)"
    r"|(?i:(?<=\w@)[0-9a-f]{1,8}\b)",
    # Generated keys: at least three digits among capitals, or among mixed-case letters.
    "key": r"\b(?=(?:[A-Z]*\d){3})[A-Z0-9]{8,}\b"
    r"|\b(?:[a-z]{2,6}_)?(?=[A-Z0-9]*[a-z])(?=[a-z0-9]*[A-Z])(?=(?:[A-Za-z]*\d){3})"
    r"[A-Za-z0-9]{14,}\b",
    "number": r"(?:(?<![\w)\]}])-)?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+\b)?",
}
# Names of placeholders, where they differ from the key in ``VARIABLES``.
NAMES = {"key": "id", "number": "n", "pod": "id"}
VARIABLE = re.compile("|".join(f"(?P<{name}>{of})" for name, of in VARIABLES.items()))
UNCLOSED = re.compile(r"""(?<!\w)['"“\u2018«`][^'"“”\u2018’«»`]*\Z""")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The key and the pattern of a group of errors."""

    key: str  # 12 hexadecimal digits
    pattern: str


def readable(error: str, longest: int = LONGEST) -> str:
    """An error that can be stored: cut, and without characters PostgreSQL refuses.

    The error text of a consumer is untrusted input, like the message.
    """
    visible = error[:longest].replace("\0", "\\0")
    if visible.isascii():
        return visible
    return visible.encode(errors="backslashreplace").decode()


def fingerprint(error: str) -> Fingerprint:
    """The group of an error, by its first line.

    Every text has a group, even the empty text. The error is cut before it is searched,
    so the work is bounded.
    """
    line = (error[:LONGEST].splitlines() or [""])[0]
    pattern = VARIABLE.sub(named, line.strip())
    if len(line) == LONGEST:  # The error may have been cut within a quoted text.
        pattern = UNCLOSED.sub("{text}", pattern)
    key = hashlib.sha256(pattern.encode(errors="replace")).hexdigest()[:12]
    return Fingerprint(key, pattern)


def named(found: re.Match[str]) -> str:
    """The placeholder of a variable part."""
    name = str(found.lastgroup)
    return found.group() if name == "keep" else f"{{{NAMES.get(name, name)}}}"
