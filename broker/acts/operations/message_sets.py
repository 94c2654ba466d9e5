"""Which messages an order takes: those of them that its actor may see, and the set in
words, for the operation's record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from django.utils.translation import gettext_noop

from broker import operations
from broker.acts.declaring import Holds
from broker.errors.acts import InvalidRequest
from broker.errors.operations import NothingChosen
from broker.formats.quantities import write_count
from broker.models import DeadLetter, Place, Queue
from broker.monitoring import visible_search
from broker.monitoring.dead_letters import NEWEST, Selection
from broker.monitoring.visible_groups import queues_for
from broker.operations import Chosen, Sought
from broker.operations.scopes import describe_letters, describe_message, in_quotes
from broker.security.authorities import Principal, held_by


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Which dead letters; an empty field does not filter."""

    fingerprint: Annotated[
        str | None,
        Holds(gettext_noop("Those of the group with this fingerprint."), most=12),
    ] = None
    origin_queue: Annotated[
        str | None, Holds(gettext_noop("Those that came from this queue."), most=255)
    ] = None
    queue: Annotated[
        str | None, Holds(gettext_noop("Those on this queue."), most=255)
    ] = None
    cause: Annotated[
        DeadLetter.Cause | None, Holds(gettext_noop("Those that died of this cause."))
    ] = None


Letters = Annotated[
    DeadLetters | None,
    Holds(gettext_noop("Dead letters by fingerprint, origin_queue, queue or cause.")),
]
EveryQueue = Annotated[
    bool,
    Holds(
        gettext_noop(
            "For a resubmit: also the other queues of the address, if a queue has the"
            " name of its address."
        )
    ),
]


class MessageSet(NamedTuple):
    """Messages, and a description of the set."""

    chosen: Chosen | Sought
    scope: str


def require_one_way(**ways: object) -> None:
    """Refuse a request that chooses messages in no way, or in several ways at once.

    Args:
        ways: fields, and what they hold; None or empty: the field is not used.

    Raises:
        InvalidRequest: exactly one of the fields should be given.
    """
    if sum(bool(one) for one in ways.values()) != 1:
        *others, last = ways
        why = f"Choose messages by {', '.join(others)} or {last}: one of them."
        raise InvalidRequest((("", why),))


def find_by_filter(actor: Principal, texts: Iterable[str]) -> MessageSet:
    """All messages that match filters.

    Raises:
        InvalidFilter, MaskedSearch, PayloadsNotPermitted: as ``visible_search.search``.
    """
    search = visible_search.search(actor, texts)
    scope = f"all messages matching {in_quotes(str(search.filter))}"
    return MessageSet(Sought(search.filter, search.within), scope)


def find_by_id(actor: Principal, ids: Iterable[int]) -> MessageSet:
    """Messages, each by its number or by the id of a copy.

    Raises:
        NothingChosen: none of these is the id of a message.
    """
    names = queues_for(held_by(actor))
    found, scope = read_ids(ids, names)
    return MessageSet(Sought.numbered(found, names), scope)


def find_entries(actor: Principal, texts: Iterable[str]) -> MessageSet:
    """Messages, each on one queue alone.

    Args:
        actor: of whom; on queues that it may not inquire, nothing is found.
        texts: each the id of a message, "@", and the name of the queue.

    Raises:
        InvalidRequest: a text is not so.
    """
    entries = []
    names = queues_for(held_by(actor))
    queues = {name: pk for pk, name in names.items()}
    for text in texts:
        number, sign, queue = text.partition("@")
        if not (sign and number.isdecimal() and 0 < int(number) <= NEWEST):
            raise InvalidRequest((("entries", f"Write ID@QUEUE, not {text[:60]}."),))
        entries.append((int(number), queues.get(queue, 0)))
    scope = write_count(len(entries), "chosen message")
    return MessageSet(Sought.named(entries, names), scope)


def find_on_queue(
    queue: Queue,
    ids: Iterable[int] | None,
    *,
    place: Place | None = None,
    selector: str = "",
) -> MessageSet:
    """Messages on one queue: all, or those with these ids."""
    found: tuple[int, ...] = ()
    words = f"all {f'{place.name.lower()} ' if place else ''}messages"
    if ids is not None:
        found, words = read_ids(ids, {queue.pk: queue.name})
    scope = f"{words} on {queue}"
    if selector:
        scope += f", with {in_quotes(selector)}"
    return MessageSet(Chosen(queue.name, place, selector, found), scope)


def find_letters(actor: Principal, letters: DeadLetters) -> MessageSet:
    """Dead letters by their facts."""
    names = queues_for(held_by(actor))
    selection = select_letters(letters, names)
    return MessageSet(Chosen(letters=selection), describe_letters(selection, names))


def find_letters_by_id(actor: Principal, ids: Iterable[int]) -> MessageSet:
    """Dead letters, each by its number or by the id of a copy.

    Raises:
        NothingChosen: none of these is the id of a message.
    """
    names = queues_for(held_by(actor))
    found, scope = read_ids(ids, names)
    letters = Selection(within=tuple(names))
    return MessageSet(Chosen(letters=letters, ids=found), scope)


def read_ids(
    ids: Iterable[int], names: Mapping[int, str]
) -> tuple[tuple[int, ...], str]:
    """The ids of entries that ids of messages mean, and these messages in words.

    Args:
        ids: each a message's number, or the id of a copy.
        names: the queues that the actor may inquire, by id.

    Raises:
        NothingChosen: none of these is the id of a message.
    """
    given = [one for one in ids if 0 < one <= NEWEST]
    scope = write_count(len(given), "chosen message")
    if not given:
        raise NothingChosen(scope)
    if len(given) == 1:
        scope = describe_message(given[0], names)
    return operations.present(given, names), scope


def select_letters(letters: DeadLetters, names: Mapping[int, str]) -> Selection:
    """The dead letters on these queues, which are given by id."""
    wanted = Selection(
        letters.fingerprint or None,
        letters.origin_queue or None,
        None if not letters.cause else str(letters.cause),
        within=tuple(names),
    )
    if letters.queue is None:
        return wanted
    on = Queue.objects.filter(name=letters.queue).values_list("pk", flat=True).first()
    return replace(wanted, queue_id=on or 0)
