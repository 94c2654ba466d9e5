"""The work of the subcommands. Each function returns its result; it prints nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from typing import Any, TextIO

from django.core.management.base import CommandError
from django.db import transaction

from broker.acts.declaring import name_in_journal
from broker.config import imports
from broker.config.documents import LeftOut
from broker.config.imports import FORMATS, MODES
from broker.models import AddressSetting, DeadLetter, Operation, Place, Queue
from broker.monitoring import dead_letters
from broker.monitoring import search as finding
from broker.monitoring.dead_letters import Selection
from broker.operations import Order, Sought
from broker.queueing import browse as looking
from broker.queueing.get import Delivery
from broker.queueing.put import put as send
from broker.security import audit, authorities, redaction
from broker.security.users import User
from broker.settlement.outcomes import Accept
from broker.transactions import leases
from console.accounts import masking
from console.cli import planning
from console.edges import actors
from console.edges.actors import USAGE
from console.messages import documents, search_form
from console.messages.dead_letter_query import matches, names_for
from console.messages.documents import PLACES
from dashboards.live import depths

LEASE = timedelta(minutes=1)  # far longer than one transaction takes


def queues(user: User | None) -> list[dict[str, Any]]:
    actors.require(user, "broker.view_queue")
    return [
        {
            "queue": one.name,
            "ready": one.ready,
            "in_flight": one.claimed,
            "delayed": one.delayed,
            "paused": one.paused,
            "dead_letters": one.takes_dead_letters,
        }
        for one in depths.queues(user=user)
    ]


def put(user: User | None, address: str, body: bytes, **fields: Any) -> dict[str, Any]:
    authorities.require(user, "put", address)
    receipt = send(address, body, producer=name_in_journal(user), **fields)
    names = Queue.objects.filter(pk__in=receipt.queue_ids).order_by("name")
    return {
        "message_id": receipt.message_id,
        "queues": list(names.values_list("name", flat=True)),
    }


def get(
    user: User | None, queue: str, limit: int, *, does: bool, why: str = ""
) -> list[dict[str, Any]]:
    """The next messages, got destructively or browsed. Got messages are printed
    unmasked: nobody can get them again.

    Raises:
        MaskedMessage: the next message is masked for the user.
    """
    found = actors.queue(user, queue, "get")
    entries = looking.browse(found.pk, Place.READY, limit=limit)
    if not does:
        authorities.require(user, "browse", queue)
        return whole_of(user, found, entries, why)
    redaction.require_clear(user, [one.message_id for one in entries])
    told = [documents.message_document(one) for one in taken(user, found, limit)]
    return list(map(brief, documents.numbered(told)))


def taken(user: User | None, queue: Queue, limit: int) -> list[Delivery]:
    """The next messages, got and accepted as by a client of the API: a poison message
    is moved to its backout queue instead."""
    actor = name_in_journal(user)
    got: list[Delivery] = []
    while len(got) < limit:
        with transaction.atomic():
            lease = leases.take(
                queue, limit=limit - len(got), lease_for=LEASE, actor=actor, user=user
            )
            if lease is None:
                break
            leases.settle(lease.uow, queue.pk, Accept(), actor=actor)
        got += lease.deliveries
    return got


def whole_of(
    user: User | None, queue: Queue, entries: Sequence[looking.Browsed], why: str
) -> list[dict[str, Any]]:
    """Entries of a queue with their bodies, masked for the user."""
    found = looking.whole(queue.pk, entries)
    sight = masking.sight_for(user, why, audit.Thing.of(queue))
    veils = sight.veils(one.message_id for one in found)
    told = [documents.message_document(one, veils[one.message_id]) for one in found]
    return list(map(brief, documents.numbered(told)))


def brief(told: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message, the most important first."""
    first = ("message_id", "number", "put_at", "content_type", "encoding", "body")
    rest = {name: value for name, value in told.items() if name not in first}
    return {name: told[name] for name in first} | rest


def browse(  # noqa: PLR0913  # the subcommand's options
    user: User | None,
    queue: str,
    place: str,
    after: str,
    limit: int,
    *,
    whole: bool,
    why: str = "",
) -> list[dict[str, Any]]:
    """A page of the entries in one state on a queue."""
    if place not in PLACES:
        raise CommandError(f"There is no place {place}.", returncode=USAGE)
    actors.require(user, "broker.browse_queue" if whole else "broker.view_queue")
    found = actors.queue(user, queue, "browse" if whole else "inquire")
    try:
        entries = looking.browse(found.pk, PLACES[place], after=after, limit=limit)
    except ValueError as error:
        raise CommandError(f"--after: {error}", returncode=USAGE) from None
    if whole:
        return whole_of(user, found, entries, why)
    return documents.numbered(
        [documents.brief(one) | {"after": one.cursor} for one in entries]
    )


def find(user: User | None, filters: Sequence[str], limit: int) -> list[dict[str, Any]]:
    actors.require(user, "broker.view_queue")
    search = search_form.search(user, filters)
    page = finding.find(search.filter, within=search.within, limit=limit)
    shown = ("message_id", "number", "state", "priority", "tries", "put_at", "error")
    return [
        {"queue": search.within[one.queue_id]}
        | {name: getattr(one, name) for name in shown}
        | {
            field.name: getattr(one, field.name)
            for field in fields(one)
            if field.name not in (*shown, "queue_id")
        }
        for one in page.rows
    ]


def selection(
    user: User | None, queue: str | None, origin: str | None, cause: str | None
) -> Selection:
    """The chosen dead letters that the user may see."""
    actors.require(user, "broker.view_queue")
    if cause is not None and cause not in DeadLetter.Cause.values:
        raise CommandError(f"There is no cause {cause}.", returncode=USAGE)
    on = None if queue is None else actors.queue(user, queue).pk
    return Selection(None, origin, cause, on, tuple(names_for(user)))


def groups(which: Selection) -> list[dict[str, Any]]:
    names = dict(Queue.objects.values_list("pk", "name"))
    return [
        {
            "messages": one.messages,
            "from": one.origin_queue,
            "on": names.get(one.queue_id, ""),
            "cause": one.cause,
            "error": one.pattern,
            "fingerprint": one.fingerprint,
            "last_died_at": one.last_died_at,
        }
        for one in dead_letters.groups()
        if matches(one, which)
    ]


def letters(which: Selection, limit: int) -> list[dict[str, Any]]:
    names = dict(Queue.objects.values_list("pk", "name"))
    return [
        {
            "message_id": one.message_id,
            "from": one.origin_queue,
            "on": names.get(one.queue_id, ""),
            "died_at": one.died_at,
            "cause": one.cause,
            "error": one.error,
            "fingerprint": one.fingerprint,
            "resubmit_count": one.resubmit_count,
        }
        for one in dead_letters.letters(which, limit=limit)
    ]


def on_queue(name: str) -> str:
    """The filter for all messages of one queue, whatever its name."""
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'queue:"{text}"'


def work(
    user: User,
    order: Order,
    filters: Sequence[str],
    reason: str,
    errors: TextIO,
    *,
    does: bool,
) -> dict[str, Any]:
    """Plan an operation on the messages that filters find, or execute it."""
    search = search_form.search(user, filters)
    chosen = Sought(search.filter, search.within)
    scope = f"messages by “{search.filter}”"
    return planning.do(
        user, planning.Work(order, chosen, scope, reason), errors, does=does
    )


def in_words(told: dict[str, Any]) -> str:
    """The expected or actual result of an operation, as text."""
    lines = [
        f"  {one['messages']:>9,}  {one['on'] or 'a queue that is gone'}"
        + (f" → {one['to']}" if one["to"] else "")
        for one in told["ways"]
    ]
    label = Operation.Kind(told["kind"]).label
    if told["operation"] is None:
        head = f"{told['messages']:,} messages to {label}. Nothing is done yet; --yes"
        return "\n".join([f"{head} does it.", *lines])
    head = (
        f"Operation {told['operation']}: {told['done']:,} of {told['messages']:,} done."
    )
    lines += [
        f"  {one['messages']:>9,}  skipped: {one['why']}" for one in told["why_skipped"]
    ]
    return "\n".join([head, *lines])


def settings_document(user: User | None, form: str) -> str:
    actors.require(user, "broker.view_addresssetting")
    if form not in FORMATS:
        raise CommandError(f"There is no format {form}.", returncode=USAGE)
    return FORMATS[form](AddressSetting.objects.all())


def import_settings(
    user: User | None, raw: bytes, mode: str, *, does: bool
) -> dict[str, Any]:
    """The changes that a document makes, or made."""
    for deed in ("add", "change", "delete"):
        actors.require(user, f"broker.{deed}_addresssetting")
    if mode not in MODES:
        raise CommandError(f"There is no mode {mode}.", returncode=USAGE)
    document = imports.read(raw)
    run = imports.apply if does else imports.preview
    found = run(document, mode)
    changed = [asdict(one) for one in found.changes if one.deed != "unchanged"]
    left_out = [asdict(one) for one in found.left_out]
    told: dict[str, Any] = {"applied": does, "changes": changed, "left_out": left_out}
    return told | {"warnings": [str(one) for one in found.warnings]}


def changes_in_words(told: dict[str, Any]) -> str:
    signs = {"added": "+", "changed": "~", "removed": "-"}
    lines = []
    for change in told["changes"]:
        lines.append(f"{signs[change['deed']]} {change['match']}")
        lines += [
            f"    {one['field']}: {one['before']!r} → {one['after']!r}"
            for one in change["differences"]
        ]
    lines += [
        f"Left out, or to be checked: {LeftOut(**one)}" for one in told["left_out"]
    ]
    lines += told["warnings"]
    if not told["changes"]:
        return "\n".join([*lines, "There is nothing to change."])
    end = "Done." if told["applied"] else "Nothing is done yet; --yes does it."
    return "\n".join([*lines, end])
