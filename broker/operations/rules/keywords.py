"""The keywords of a rules table, and the symbolic names of numbers.

Source:
    IBM MQ documentation, "The DLQ handler rules table", "DLQ rules (patterns and
    actions)" and "DLQ rules table conventions".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from broker.errors.mq_codes import Feedback, MsgType, Persistence, PutApplType, Reason
from broker.operations.rules.symbols import APPLICATIONS, FEEDBACKS, REASONS

LARGEST = 999_999_999
NAME = 48  # most characters of a queue's name in IBM MQ
LONGEST_NAME = 255  # most characters of a queue's name in this broker


class KeywordPosition(Enum):
    """The part of a table in which a keyword is allowed."""

    CONTROL = "control data"
    PATTERN = "what a rule matches"
    ACTION = "what a rule does"


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword, and the values that it allows."""

    name: str
    place: KeywordPosition
    # Maximum length of a text; 0: not a text. A pattern with wildcards may be longer.
    width: int = 0
    # Prefixes of the symbolic names that a number may have.
    numbers: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    # An extension of this broker; IBM MQ does not know the keyword.
    is_ours: bool = False
    is_number: bool = False

    @property
    def is_pattern(self) -> bool:
        return self.place is KeywordPosition.PATTERN


def patterns() -> list[Keyword]:
    place = KeywordPosition.PATTERN
    return [
        Keyword("APPLIDAT", place, 32),
        Keyword("APPLNAME", place, 28),
        Keyword("APPLTYPE", place, numbers=("MQAT_",), is_number=True),
        Keyword("DESTQ", place, LONGEST_NAME),
        Keyword("DESTQM", place, NAME),
        Keyword("FEEDBACK", place, numbers=("MQFB_", "MQRC_"), is_number=True),
        Keyword("FORMAT", place, 8),
        Keyword("MSGTYPE", place, numbers=("MQMT_",), is_number=True),
        Keyword("PERSIST", place, numbers=("MQPER_",), is_number=True),
        Keyword("REASON", place, numbers=("MQRC_", "MQFB_"), is_number=True),
        Keyword("REPLYQ", place, LONGEST_NAME),
        Keyword("REPLYQM", place, NAME),
        Keyword("USERID", place, 12),
        Keyword("FINGERPRINT", place, 12, is_ours=True),
        Keyword("PROPERTY", place, 512, is_ours=True),
        Keyword("FILTER", place, 2000, is_ours=True),
    ]


KEYWORDS = {
    one.name: one
    for one in (
        Keyword("INPUTQ", KeywordPosition.CONTROL, LONGEST_NAME),
        Keyword("INPUTQM", KeywordPosition.CONTROL, NAME),
        Keyword("RETRYINT", KeywordPosition.CONTROL, is_number=True),
        Keyword("WAIT", KeywordPosition.CONTROL, choices=("YES", "NO"), is_number=True),
        *patterns(),
        Keyword(
            "ACTION",
            KeywordPosition.ACTION,
            choices=("DISCARD", "IGNORE", "RETRY", "FWD"),
        ),
        Keyword("FWDQ", KeywordPosition.ACTION, LONGEST_NAME),
        Keyword("FWDQM", KeywordPosition.ACTION, NAME),
        Keyword("HEADER", KeywordPosition.ACTION, choices=("YES", "NO")),
        Keyword("PUTAUT", KeywordPosition.ACTION, choices=("DEF", "CTX")),
        Keyword("RETRY", KeywordPosition.ACTION, is_number=True),
    )
}
FROM_LETTER = {  # values that refer to a field of the letter, instead of a name
    "FWDQ": ("&DESTQ", "&REPLYQ"),
    "FWDQM": ("&DESTQM", "&REPLYQM"),
}

NUMBERS: dict[str, int] = {
    **{f"MQRC_{one.name}": one.value for one in Reason},
    **{f"MQRC_{name}": code for code, name in REASONS.items()},
    **{f"MQFB_{one.name}": one.value for one in Feedback},
    **{f"MQFB_{name}": code for code, name in FEEDBACKS.items()},
    **{f"MQMT_{one.name}": one.value for one in MsgType},
    **{f"MQPER_{name}": code for name, code in {
        "NOT_PERSISTENT": Persistence.NOT_PERSISTENT.value,
        "PERSISTENT": Persistence.PERSISTENT.value,
        "PERSISTENCE_AS_Q_DEF": Persistence.AS_Q_DEF.value,
    }.items()},
    **{f"MQAT_{one.name}": one.value for one in PutApplType},
    **{f"MQAT_{name}": code for name, code in APPLICATIONS.items()},
}  # fmt: skip


def name_of(keyword: Keyword, number: int) -> str:
    """The symbolic name of a number for this keyword; or the number if it has none."""
    for beginning in keyword.numbers:
        for name, code in NUMBERS.items():
            if code == number and name.startswith(beginning):
                return name
    return str(number)
