"""The queues that a message and its originals are or were on, for redaction rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from django.db.models.fields.json import KeyTextTransform

from broker.models import DeadLetter, Message, Queue

# The longest chain of copies that is followed. A message with a longer chain may have
# been on any queue, so the rules of all queues apply to it.
LIVES = 32
EVERY = "#"  # pattern that matches all queues
# Properties in which a copy names its origin.
SAID = ("_AMQ_ORIG_QUEUE", "_AMQ_ORIG_ADDRESS")


def queues_of(message_ids: Iterable[int]) -> dict[int, frozenset[str]]:
    """Names of the queues and addresses that messages are or were on, by message.

    An address includes all its queues. The originals of a copy are included while they
    are stored; beyond that, the properties of the copy are used. Four queries, and one
    for each level of copies.
    """
    places: dict[int, set[str]] = defaultdict(set)
    # By message: the given messages that are this message or a copy of it.
    ancestors = {one: {one} for one in message_ids}
    for _ in range(LIVES):
        if not ancestors:
            break
        note_letters(ancestors, places)
        ancestors = note_messages(ancestors, places)
    for descendants in ancestors.values():
        for one in descendants:
            places[one].add(EVERY)
    fed = fed_by(set().union(*places.values()))
    return {
        one: frozenset(names.union(*(fed.get(name, ()) for name in names)))
        for one, names in places.items()
    }


Whose = Mapping[int, set[int]]


def note_messages(
    ancestors: Whose, places: Mapping[int, set[str]]
) -> dict[int, set[int]]:
    """Add the addresses of messages; return the messages that they are copies of."""
    said = (KeyTextTransform(name, "properties") for name in SAID)
    rows = Message.objects.filter(pk__in=ancestors)
    earlier: dict[int, set[int]] = defaultdict(set)
    for pk, before, *names in rows.values_list("pk", "copied_from", "address", *said):
        for one in ancestors[pk]:
            places[one].update(name for name in names if name)
        if before is not None:
            earlier[before] |= ancestors[pk]
    return earlier


def note_letters(ancestors: Whose, places: Mapping[int, set[str]]) -> None:
    """Add the origins of dead letters."""
    letters = DeadLetter.objects.filter(message_id__in=ancestors)
    for pk, *names in letters.values_list(
        "message_id", "origin_queue", "origin_address"
    ):
        for one in ancestors[pk]:
            places[one].update(name for name in names if name)


def fed_by(addresses: Collection[str]) -> dict[str, set[str]]:
    """The queues of addresses, by name."""
    fed: dict[str, set[str]] = defaultdict(set)
    rows = Queue.objects.filter(address__name__in=addresses)
    for address, queue in rows.values_list("address__name", "name"):
        fed[address].add(queue)
    return fed
