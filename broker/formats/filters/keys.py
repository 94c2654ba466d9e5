"""The keys of filters, and the kind of each key's values."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum

STATES = ("ready", "delayed", "in-flight", "dead", "discarded")
CAUSES = (
    "max-delivery-attempts",
    "expired",
    "rejected",
    "operator",
    "no-route",
    "backout-threshold",
    "malformed",
    "unwanted",
    "report",
    "link",
)


class KeyKind(Enum):
    """How the values of a key are read, and compared."""

    CHOICE = "one of a few words"
    TEXT = "a text; * is any run of characters"
    WORDS = "words that it holds; * is any run of characters"
    NUMBER = "a whole number"
    SIZE = "a number of bytes, such as 500, 10kB or 1MiB"
    MOMENT = "a time, such as 2026-05-14 or 2026-05-14T02:00Z"
    SPAN = "a duration, such as 90s, 15min, 2h or 1d12h"
    PROPERTY = "a text, a number, true or false; * is any run of characters"


@dataclass(frozen=True, slots=True)
class Key:
    """A key that filters can use: a field of a message."""

    name: str
    kind: KeyKind
    says: str  # what the key means, for people
    choices: tuple[str, ...] = ()
    of_letters: bool = False  # only dead letters have this key


KEYS = {
    key.name: key
    for key in (
        Key("state", KeyKind.CHOICE, "where it is", STATES),
        Key("queue", KeyKind.TEXT, "the queue it is on"),
        Key("address", KeyKind.TEXT, "what it was sent to"),
        Key("id", KeyKind.NUMBER, "its number, or an id of a copy"),
        Key("message-id", KeyKind.TEXT, "the sender's id of it"),
        Key("correlation", KeyKind.TEXT, "the correlation id"),
        Key("type", KeyKind.TEXT, "its type, or subject"),
        Key("group", KeyKind.TEXT, "its message group"),
        Key("content", KeyKind.TEXT, "the content type"),
        Key("producer", KeyKind.TEXT, "who sent it"),
        Key("priority", KeyKind.NUMBER, "0 to 9"),
        Key("tries", KeyKind.NUMBER, "how often it was backed out"),
        Key("size", KeyKind.SIZE, "of its body"),
        Key("at", KeyKind.MOMENT, "when it was put"),
        Key("age", KeyKind.SPAN, "how long ago that was"),
        Key("due", KeyKind.MOMENT, "until when it is delayed"),
        Key("expires", KeyKind.MOMENT, "when its time to live is over"),
        Key(
            "died", KeyKind.MOMENT, "when it became a dead letter", (), of_letters=True
        ),
        Key("cause", KeyKind.CHOICE, "why it died", CAUSES, of_letters=True),
        Key("error", KeyKind.WORDS, "what its consumer said", (), of_letters=True),
        Key("fingerprint", KeyKind.TEXT, "the group of its error", (), of_letters=True),
        Key(
            "origin",
            KeyKind.TEXT,
            "the queue that it comes from",
            (),
            of_letters=True,
        ),
        Key(
            "resubmits",
            KeyKind.NUMBER,
            "how often it was sent back",
            (),
            of_letters=True,
        ),
        Key("body", KeyKind.WORDS, "the beginning of its body"),
    )
}
PROPERTY = Key("h", KeyKind.PROPERTY, "a property of the application")
PATH = Key("path", KeyKind.PROPERTY, "a value in a JSON body")
COPY = Key("copy", KeyKind.NUMBER, "the id of one copy")  # a key that only programs use
WORD = Key("", KeyKind.WORDS, "its error, type or ids")
WITH_NAMES = ("h.name", "body.path")  # keys that have a name after the dot
ALIASES = {
    "is": "state",
    "subject": "type",
    "correlation-id": "correlation",
    "content-type": "content",
    "backouts": "tries",
    "put": "at",
}
SYNONYMS = {  # other words for choices
    "scheduled": "delayed",
    "waiting": "delayed",
    "inflight": "in-flight",
    "claimed": "in-flight",
    "locked": "in-flight",
}


def nearest(word: str, known: tuple[str, ...]) -> str:
    """A sentence that suggests the most similar known word, or lists all known
    words."""
    close = difflib.get_close_matches(word[:64], known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    *most, last = known
    return f"there are {', '.join(most)} and {last}"
