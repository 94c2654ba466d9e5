"""Two-phase commit: prepare a unit of work, and end it by its coordinator's decision.

A prepared unit of work survives the end of its program, its deadline, and restarts. The
coordinator, or an operator, commits it or backs it out by its xid, in any process. Its
puts, and the poison messages that it removes, are stored with it.

Source:
    The Open Group, "Distributed Transaction Processing: The XA Specification".
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import Error as DatabaseError
from django.db import IntegrityError, connection, transaction

from broker import sql
from broker.errors import BrokerError, LockLost
from broker.errors.mq_codes import Reason
from broker.errors.units_of_work import (
    BackedOut,
    NoSuchXid,
    NotCoordinated,
    WrongXid,
    XidInUse,
)
from broker.models import Act, Claim, PreparedPut, Queue
from broker.models import UnitOfWork as UnitRow
from broker.queueing import processes
from broker.queueing.get import Delivery
from broker.queueing.put import Receipt, put_as_given
from broker.security import audit
from broker.security.audit import Thing
from broker.settlement import poison, settle
from broker.settlement.confirmations import confirm
from broker.settlement.outcomes import BackOut, Release, describe
from broker.settlement.redelivery_policy import Disposition
from broker.transactions.prepared_parts import (
    PreparedPart,
    bytes_of,
    fields_of,
    message_of,
)
from broker.transactions.unit_of_work import UnitOfWork

LONGEST_XID = 300  # most characters; in hexadecimal, two parts of 64 bytes and a number
DECIDED = "Its coordinator decided to back it out."


@dataclass(frozen=True, slots=True)
class PreparedUnitOfWork:
    """A unit of work that waits for its coordinator's decision."""

    xid: str
    uow: int
    owner_id: int  # id of the process that prepared it; the process may have ended
    started_at: datetime
    entries: int  # number of entries that it holds
    puts: int  # number of messages that its commit sends


def prepared() -> list[PreparedUnitOfWork]:
    """All prepared units of work, oldest first."""
    return sql.fetch("prepared", PreparedUnitOfWork)


def prepare(work: UnitOfWork, xid: str) -> None:
    """Prepare a unit of work. After that, it can only be ended by its xid.

    The commit is tried and rolled back first: a unit of work that cannot be committed
    now is not prepared.

    Args:
        work: a coordinated unit of work; its holder cannot use it after this.
        xid: the id that the coordinator gives to it; unique.

    Raises:
        NotCoordinated: the unit of work was not created as coordinated.
        WrongXid: the xid is empty, too long, or has characters that cannot be printed.
        XidInUse: another unit of work has the xid; this one stays open.
        LockLost: the system has backed out the unit of work before.
        BackedOut: it cannot be committed, and was backed out now.
    """
    work.check_open()
    if not work.coordinated:
        raise NotCoordinated(work.id)
    if not 0 < len(xid) <= LONGEST_XID or not xid.isprintable():
        raise WrongXid(xid)
    line = None
    try:
        with transaction.atomic():
            line = connection.connection
            uow = name(work, xid)
            rehearse(work)
            keep(uow, work)
    except XidInUse:
        raise
    except LockLost:
        work.ended = True
        raise
    except (BrokerError, DatabaseError) as error:
        if line is None or line.closed:
            # It is unknown whether the preparation was committed; the journal has the
            # answer.
            raise
        with suppress(LockLost):  # the unit of work has ended already
            work.back_out(describe(error), by_system=True)
        raise BackedOut(str(error)) from error
    work.id, work.ended = uow, True


def name(work: UnitOfWork, xid: str) -> int:
    """Set the xid of a unit of work, so that only its xid can end it; return its id.

    On an error, the caller must roll back the transaction.
    """
    try:
        named = sql.run(
            "prepare",
            {"uow": work.id, "xid": xid, "owner": processes.current(), "now": work.now},
        )
    except IntegrityError as error:
        if not sql.is_duplicate(error):
            raise
        raise XidInUse(xid) from error
    for (uow,) in named:
        assert isinstance(uow, int)
        return uow
    assert work.id is not None, "one that holds nothing is begun here"
    raise LockLost(work.id)


def rehearse(work: UnitOfWork) -> None:
    """Commit with all checks, and roll the commit back."""
    with transaction.atomic():
        work.carry_out()
        transaction.set_rollback(True)


def keep(uow: int, work: UnitOfWork) -> None:
    """Store the actions of the commit, in this order."""
    parts = [PreparedPart(fields_of(put), *bytes_of(put)) for put in work.puts]
    parts += [
        PreparedPart({"removing": removing_of(one, work.user)}, b"", None, None)
        for one in work.removing
    ]
    parts += [
        PreparedPart({"confirming": place}, b"", None, None)
        for place in sorted(work.to_confirm)
    ]
    parts += [
        PreparedPart({"rejecting": [*place, error]}, b"", None, None)
        for place, error in work.rejecting.items()
    ]
    if parts:
        fields, bodies, headers, envelopes = zip(*parts, strict=True)
        sql.fetch_one(
            "keep_puts",
            uow=uow,
            fields=list(map(json.dumps, fields)),
            bodies=list(bodies),
            headers=list(headers),
            envelopes=list(envelopes),
        )


@transaction.atomic
def commit_prepared(
    xid: str,
    *,
    coordinator: str = "",
    actor: str = "",
    reason: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    """Commit a prepared unit of work: accept its entries, and send its puts.

    Args:
        xid: the id that the coordinator gave to it.
        coordinator: name of the coordinator; the journal records it.
        actor: the operator who decides instead of the coordinator, for the journal and
            the audit. Empty: the coordinator decides, and nothing is audited.
        reason: text that the audit records.
        now: the current time; the database's clock when not given.

    Returns:
        The receipt of each put, in their order.

    Raises:
        NoSuchXid: no prepared unit of work has this xid; it may have ended.
        BrokerError: an address or a queue refuses a message now. The unit of work stays
            prepared: correct the queue and commit again, or back it out.
    """
    uow = locked(xid)
    if actor:
        note(Act.COMMIT_PREPARED, uow, xid, reason)
    actor = actor or coordinator
    parts = sql.fetch("kept_puts", PreparedPart, uow=uow)
    puts = [message_of(part) for part in parts if "address" in part.fields]
    about: dict[str, Any] = {"uow": uow, "actor": actor, "now": now}
    receipts = put_as_given(puts, **about) if puts else []
    for part in parts:
        if "removing" in part.fields:
            take_away(uow, part.fields["removing"], actor=actor, now=now)
        elif "rejecting" in part.fields:
            *place, error = part.fields["rejecting"]
            settle.reject_some(uow, {tuple(place): error}, actor=actor, now=now)
    settle.accept(uow, expected=held(uow), actor=actor, now=now)
    confirming = {
        tuple(p.fields["confirming"]) for p in parts if "confirming" in p.fields
    }
    if confirming:
        confirm(confirming, **about)
    return receipts


@transaction.atomic
def back_out_prepared(  # callers name the arguments
    xid: str,
    *,
    error: str | BackOut = DECIDED,
    coordinator: str = "",
    actor: str = "",
    reason: str = "",
    now: datetime | None = None,
) -> list[Disposition]:
    """Back out a prepared unit of work; its puts are never sent.

    Args:
        xid: the id that the coordinator gave to it.
        error: the reason, for the operator; or the outcome of its deliveries.
        coordinator: see ``commit_prepared``.
        actor: see ``commit_prepared``.
        reason: text that the audit records.
        now: the current time; the database's clock when not given.

    Raises:
        NoSuchXid: no prepared unit of work has this xid; it may have ended.
    """
    uow = locked(xid)
    if actor:
        note(Act.BACK_OUT_PREPARED, uow, xid, reason)
    forget(uow)
    outcome = BackOut(error) if isinstance(error, str) else error
    by = actor or coordinator
    return settle.end_if_held(uow, outcome, actor=by, now=now) or []


@transaction.atomic
def release_prepared(
    xid: str, *, coordinator: str = "", now: datetime | None = None
) -> None:
    """End a prepared unit of work: its entries return at once, without counting a
    backout, and its puts are never sent.

    Args:
        xid: the id that the coordinator gave to it.
        coordinator: name of the coordinator; the journal records it.
        now: the current time; the database's clock when not given.

    Raises:
        NoSuchXid: no prepared unit of work has this xid; it may have ended.
    """
    uow = locked(xid)
    forget(uow)
    settle.end_if_held(uow, Release(), actor=coordinator, now=now)


def note(act: Act, uow: int, xid: str, reason: str) -> None:
    """Record an operator's decision in the audit, before the unit of work is gone."""
    puts = PreparedPut.objects.filter(uow=uow, fields__has_key="address").count()
    detail = {"entries": held(uow), "puts": puts, "queues": held_on(uow)}
    audit.record(act, Thing("unit of work", uow, xid), reason=reason, detail=detail)


def locked(xid: str) -> int:
    """The prepared unit of work of an xid, locked until the transaction ends."""
    found = UnitRow.objects.select_for_update().filter(xid=xid)
    for uow in found.values_list("id", flat=True):
        return uow
    raise NoSuchXid(xid)


def forget(uow: int) -> None:
    PreparedPut.objects.filter(uow=uow).delete()


def held_on(uow: int) -> list[str]:
    """Names of the queues whose entries a unit of work holds."""
    queue_ids = Claim.objects.filter(uow=uow).values("queue_id")
    names = Queue.objects.filter(pk__in=queue_ids).order_by("name")
    return list(names.values_list("name", flat=True))


def held(uow: int) -> int:
    claims = Claim.objects.filter(uow=uow).values_list("ids", flat=True)
    return sum(map(len, claims))


def take_away(
    uow: int, removing: dict[str, Any], *, actor: str, now: datetime | None
) -> None:
    """Move a poison message away, as the commit of its consumer would have done."""
    (delivery,) = sql.fetch(
        "held",
        Delivery,
        uow=uow,
        queue_id=removing["queue_id"],
        message_id=removing["message_id"],
    )
    why = removing["why"]
    poison.take_away(
        poison.Removing(
            delivery, removing["backout_queue"], why if why is None else Reason(why)
        ),
        last=poison.Last.DISCARD,
        user=user_of(removing["user_id"]),
        actor=actor,
        now=now,
    )


def removing_of(removing: poison.Removing, user: Any) -> dict[str, Any]:
    return {
        "queue_id": removing.delivery.queue_id,
        "message_id": removing.delivery.message_id,
        "backout_queue": removing.backout_queue,
        "why": removing.why,
        "user_id": user and user.pk,
    }


def user_of(user_id: int | None) -> Any:
    """The user whose authorities apply; a deleted user has none."""
    if user_id is None:
        return None
    users = get_user_model()._default_manager.filter(pk=user_id)
    return users.first() or AnonymousUser()
