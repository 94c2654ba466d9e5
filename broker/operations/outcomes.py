"""Outcomes of an item of an operation: codes and sentences."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of an item, or the outcome it would have now."""

    WILL_GO = "will_go"
    GONE = "gone"
    HELD = "held_by_consumer"
    BUSY = "busy"
    EXPIRED = "expired"
    NO_WAY_BACK = "no_way_back"
    REFUSED = "refused"
    INHIBITED = "put_inhibited"
    FULL = "queue_full"
    NOT_DELAYED = "not_delayed"
    DELIVERED = "delivered_since"
    CHANGED = "changed_since"
    PROCESSED = "already_processed"
    MOVED_ON = "moved_on"
    DUE = "due"
    NOT_STORED = "not_stored"
    NOT_IN_BIN = "not_in_bin"

    # Reasons why the patch cannot be applied to the message: the values of
    # ``broker.formats.patches.Misfit``.
    UNCHANGED = "unchanged"
    GUARD_FAILED = "guard_failed"
    NO_SUCH_PATH = "no_such_path"
    NOT_JSON = "not_json"
    TOO_LARGE = "too_large"
    LOCKED = "locked"

    @property
    def sentence(self) -> str:
        """The note in the ledger for an item that was skipped."""
        return SENTENCES[self]


SENTENCES = {
    Outcome.WILL_GO: "",
    Outcome.GONE: "It was no longer on its queue.",
    Outcome.HELD: "A consumer had it.",
    Outcome.BUSY: "Somebody else was just taking it.",
    Outcome.EXPIRED: "Its time to live was over.",
    Outcome.NO_WAY_BACK: "The queue it was to go to no longer exists.",
    Outcome.REFUSED: "The queue it was to go to did not take it.",
    Outcome.INHIBITED: "A queue it was to go to is put-inhibited.",
    Outcome.FULL: "A queue it was to go to holds as many messages as it may.",
    Outcome.NOT_DELAYED: "It was not delayed.",
    Outcome.DELIVERED: "It was delivered since, and came back.",
    Outcome.CHANGED: "Another operation changed it since.",
    Outcome.PROCESSED: "It was already processed.",
    Outcome.MOVED_ON: "It was moved on since, or removed.",
    Outcome.DUE: "Its time had come.",
    Outcome.NOT_IN_BIN: "The discard bin no longer had it.",
    Outcome.NOT_STORED: "Its message is no longer stored.",
    Outcome.UNCHANGED: "The patch would change nothing in it.",
    Outcome.GUARD_FAILED: "It is not as the patch tests for.",
    Outcome.NO_SUCH_PATH: "It has nothing where the patch would change it.",
    Outcome.NOT_JSON: "Its body is not JSON, or not unambiguous.",
    Outcome.TOO_LARGE: "Its body is too large to be patched, or would be.",
    Outcome.LOCKED: "The patch would change what stands in IBM MQ's headers, too.",
}
