"""Descriptions of sets of messages, which an operation keeps for its readers."""

from __future__ import annotations

from collections.abc import Mapping

from broker.formats.english import english
from broker.models import DeadLetter
from broker.monitoring import dead_letter_groups
from broker.monitoring.dead_letters import Selection
from broker.monitoring.numbers import public_number
from broker.operations.planning import on_queues

LONGEST_QUOTE = 120  # most characters of a quoted error or filter


def describe_message(message_id: int, names: Mapping[int, str]) -> str:
    """One message: by its number, if an entry is on one of the queues that the user
    may see; otherwise by the id as given.

    Args:
        message_id: the id as given.
        names: of these queues, by id.
    """
    is_seen = message_id in on_queues([message_id], names)
    return f"message {public_number(message_id) if is_seen else message_id}"


def describe_letters(selection: Selection, names: Mapping[int, str]) -> str:
    """Dead letters. At most one query.

    Args:
        selection: of dead letters.
        names: queues that its readers may inquire: names by id.
    """
    words = "all dead letters"
    if selection.origin_queue:
        words += f" of {selection.origin_queue}"
    if on := names.get(selection.queue_id or 0):
        words += f" on {on}"
    if selection.cause:
        words += f", {english(DeadLetter.Cause(selection.cause).label)}"
    if selection.fingerprint:
        error = dead_letter_groups.pattern_of(selection.fingerprint, names)
        words += f", with {in_quotes(error or 'no error text')}"
    return words


def in_quotes(text: str) -> str:
    """A text of somebody else, shortened for a sentence."""
    cut = text[:LONGEST_QUOTE] + ("…" if len(text) > LONGEST_QUOTE else "")
    return f"“{cut}”"
