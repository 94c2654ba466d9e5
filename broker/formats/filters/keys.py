"""The keys of filters, and the kind of each key's values."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum

from django.utils.translation import gettext_noop

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

    CHOICE = gettext_noop("one of a few words")
    TEXT = gettext_noop("a text; * is any run of characters")
    WORDS = gettext_noop("words that it holds; * is any run of characters")
    NUMBER = gettext_noop("a whole number")
    SIZE = gettext_noop("a number of bytes, such as 500, 10kB or 1MiB")
    MOMENT = gettext_noop("a time, such as 2026-05-14 or 2026-05-14T02:00Z")
    SPAN = gettext_noop("a duration, such as 90s, 15min, 2h or 1d12h")
    PROPERTY = gettext_noop(
        "a text, a number, true or false; * is any run of characters"
    )


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
        Key("state", KeyKind.CHOICE, gettext_noop("where it is"), STATES),
        Key("queue", KeyKind.TEXT, gettext_noop("the queue it is on")),
        Key("address", KeyKind.TEXT, gettext_noop("what it was sent to")),
        Key("id", KeyKind.NUMBER, gettext_noop("its number, or an id of a copy")),
        Key("message-id", KeyKind.TEXT, gettext_noop("the sender's id of it")),
        Key("correlation", KeyKind.TEXT, gettext_noop("the correlation id")),
        Key("type", KeyKind.TEXT, gettext_noop("its type, or subject")),
        Key("group", KeyKind.TEXT, gettext_noop("its message group")),
        Key("content", KeyKind.TEXT, gettext_noop("the content type")),
        Key("producer", KeyKind.TEXT, gettext_noop("who sent it")),
        Key("priority", KeyKind.NUMBER, gettext_noop("0 to 9")),
        Key("tries", KeyKind.NUMBER, gettext_noop("how often it was backed out")),
        Key("size", KeyKind.SIZE, gettext_noop("of its body")),
        Key("at", KeyKind.MOMENT, gettext_noop("when it was put")),
        Key("age", KeyKind.SPAN, gettext_noop("how long ago that was")),
        Key("due", KeyKind.MOMENT, gettext_noop("until when it is delayed")),
        Key("expires", KeyKind.MOMENT, gettext_noop("when its time to live is over")),
        Key(
            "died",
            KeyKind.MOMENT,
            gettext_noop("when it became a dead letter"),
            (),
            of_letters=True,
        ),
        Key(
            "cause",
            KeyKind.CHOICE,
            gettext_noop("why it died"),
            CAUSES,
            of_letters=True,
        ),
        Key(
            "error",
            KeyKind.WORDS,
            gettext_noop("what its consumer said"),
            (),
            of_letters=True,
        ),
        Key(
            "fingerprint",
            KeyKind.TEXT,
            gettext_noop("the group of its error"),
            (),
            of_letters=True,
        ),
        Key(
            "origin",
            KeyKind.TEXT,
            gettext_noop("the queue that it comes from"),
            (),
            of_letters=True,
        ),
        Key(
            "resubmits",
            KeyKind.NUMBER,
            gettext_noop("how often it was sent back"),
            (),
            of_letters=True,
        ),
        Key("body", KeyKind.WORDS, gettext_noop("the beginning of its body")),
    )
}
PROPERTY = Key("h", KeyKind.PROPERTY, gettext_noop("a property of the application"))
PATH = Key("path", KeyKind.PROPERTY, gettext_noop("a value in a JSON body"))
COPY = Key(
    "copy", KeyKind.NUMBER, gettext_noop("the id of one copy")
)  # a key that only programs use
WORD = Key("", KeyKind.WORDS, gettext_noop("its error, type or ids"))
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
