"""Facts of a dead letter for rules: from its MQDLH or else from its row.

So a table written for IBM MQ also works for dead letters made by the rules of ActiveMQ
Artemis, and for those that programs put on the queue with an MQDLH of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings

from broker import sql
from broker.errors.mq_codes import MsgType, Reason
from broker.formats import filters
from broker.formats.filters import Filter
from broker.formats.mq.chain import chain_of
from broker.formats.mq.descriptor import format_of, legible
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.monitoring import search
from broker.operations.rules.matching import Letter
from broker.operations.rules.table import Rule

# Bytes that are read of a body which begins with headers; an MQDLH stands first.
HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class StoredDeadLetter:
    """A dead letter as it is stored."""

    message_id: int
    has_story: bool  # whether the broker itself dead-lettered the message
    origin_id: int
    died_at: datetime
    reason: int | None
    fingerprint: str
    origin_queue: str
    durable: bool
    reply_to: str | None
    producer: str
    content_type: str
    descriptor: Mapping[str, Any] | None
    headers: bytes | None
    head: bytes | None  # the beginning of a body that begins with a header
    properties: Mapping[str, Any]
    size_bytes: int

    @property
    def letter(self) -> Letter | None:
        """The facts of the letter that rules can match; None if nothing says why the
        message is here."""
        header = self.header
        if header is None and not self.has_story:
            return None
        given = legible(self.descriptor or {})
        died_on = self.origin_queue
        if header is not None and not self.has_story:
            died_on = header.dest_q_name
        texts = {
            "APPLIDAT": given.get("appl_identity_data", ""),
            "APPLNAME": given.get("put_appl_name", ""),
            "DESTQ": header.dest_q_name if header else self.origin_queue,
            "DESTQM": header.dest_q_mgr_name if header else settings.BROKER_NAME,
            "FINGERPRINT": self.fingerprint,
            "FORMAT": str(
                header.format
                if header
                else given.get("format", format_of(self.content_type))
            ),
            "REPLYQ": self.reply_to or "",
            "REPLYQM": given.get("reply_to_q_mgr", ""),
            "USERID": given.get("user_identifier", "") or self.producer,
        }
        numbers = {
            "APPLTYPE": given.get("put_appl_type", 0),
            "FEEDBACK": given.get("feedback", 0),
            "MSGTYPE": given.get("msg_type", int(MsgType.DATAGRAM)),
            "PERSIST": int(self.durable),
            "REASON": header.reason if header else self.reason or int(Reason.NONE),
        }
        return Letter(
            self.message_id,
            self.origin_id,
            self.died_at,
            died_on,
            texts,
            numbers,
            {name: as_text(value) for name, value in self.properties.items()},
            self.size_bytes,
            has_story=self.has_story,
        )

    @property
    def header(self) -> DeadLetterHeader | None:
        chain = chain_of(
            self.descriptor, self.content_type, self.headers, self.head or b""
        )
        found = [one for one in chain.headers if isinstance(one, DeadLetterHeader)]
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class LetterPage:
    """Some messages of a dead letter queue, in the order of their ids."""

    letters: list[Letter]
    # Messages that no rule can match, because no cause of their death is recorded: they
    # have no MQDLH, and the broker did not dead-letter them.
    unexplained: list[int]

    def __len__(self) -> int:
        return len(self.letters) + len(self.unexplained)

    @property
    def last_id(self) -> int:
        ids = [*self.unexplained, *(one.message_id for one in self.letters)]
        return max(ids, default=0)


def letters_on(queue_id: int, *, after: int, limit: int) -> LetterPage:
    """Messages that are ready on a queue with ids above ``after``, in order."""
    rows = sql.fetch(
        "rule_letters",
        StoredDeadLetter,
        queue_id=queue_id,
        after=after,
        limit=limit,
        head_bytes=HEAD_BYTES,
    )
    letters = {row.message_id: row.letter for row in rows}
    return LetterPage(
        [letter for letter in letters.values() if letter is not None],
        [one for one, letter in letters.items() if letter is None],
    )


def found_by(
    rules: Iterable[Rule],
    letters: Sequence[Letter],
    queue: Mapping[int, str],
    now: datetime,
) -> dict[int, set[str]]:
    """The filters of rules that match each letter, by message id.

    Raises:
        SearchTooLong: the database took too long.
    """
    wanted = {
        str(value) for rule in rules for key, value in rule.patterns if key == "FILTER"
    }
    found: dict[int, set[str]] = {letter.message_id: set() for letter in letters}
    if not letters or not wanted:
        return found
    among = f"id:{letters[0].message_id}..{letters[-1].message_id}"
    (numbers,) = filters.parse(among).terms
    for text in wanted:
        terms = (*filters.parse(text).terms, replace(numbers, key=filters.COPY))
        with search.patiently(search.PATIENCE):
            for some in search.keys(Filter(terms), within=queue, now=now):
                for message_id, _ in some:
                    if message_id in found:
                        found[message_id].add(text)
    return found


def as_text(value: Any) -> str:
    """A property value as text; empty if the value is no text, number or boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ""
