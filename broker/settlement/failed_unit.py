"""Back out or reject a whole unit of work by one statement, outside a transaction.

The dispositions follow from what this connection has read of the settings
(``settings_cache``) and from what the holder knows of its entries. The statement
compares both with the tables, and fails if something differs; then they are read anew.
This is for units of work whose entries are all redelivered, or all become dead letters
on one address. Others are taken and settled entry by entry, in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import DataError

from broker import sql
from broker.config.auto_create import name_for
from broker.models import AddressSetting, Kind, Place
from broker.queueing.get import PRIORITIES, Delivery, Next, lows_of
from broker.queueing.routing import Route
from broker.queueing.transfer import (
    EndedUnit,
    Record,
    TakenEntry,
    put_back,
    refusals,
    single,
    store_copies,
)
from broker.settlement.backout import cause_of, decide_all, milliseconds, rules_for
from broker.settlement.outcomes import BackOut, Failure, Outcome, Reject, for_journal
from broker.settlement.redelivery_policy import DeadLetter, Disposition, Redeliver
from broker.settlement.settings_cache import (
    QueueAttributes,
    SettingsCache,
    settings_cache,
)


class Ended(NamedTuple):
    """What became of a unit of work whose deliveries failed."""

    dispositions: list[Disposition]  # of each entry
    following: list[Delivery]  # what its holder got by the same statement


def end_failed(
    uow: int,
    outcome: Outcome,
    known: Sequence[TakenEntry] = (),
    then: Next | None = None,
    *,
    actor: str,
    now: datetime | None,
) -> Ended | None:
    """End a unit of work whose deliveries have failed.

    Args:
        uow: the unit of work.
        outcome: of all its deliveries.
        known: its entries, as far as the caller knows; empty: they are read first.
        then: what its holder gets next. It is got by the same statement if that is one
            entry, and none that this one makes ready would come before it.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Returns:
        None if this is no matter of one statement, or the unit of work has ended; then
        nothing was changed.
    """
    if not isinstance(outcome, BackOut | Reject):
        return None
    if isinstance(outcome, BackOut) and (outcome.annotations or outcome.hidden):
        return None
    detail = for_journal(outcome)
    record = Record(Kind.BACK_OUT, Place.CLAIMED, uow, actor, detail, now)
    if then is not None and (then.limit > 1 or len(known) != 1):
        then = None
    unit = FailedUnit(uow, outcome, record, settings_cache(), then)
    if known and unit.cache.has_read(entry.queue_id for entry in known):
        with unit.compared():
            return unit.end(known)
    held = unit.read()
    if held and not any(entry.expired for entry in held):
        with unit.compared():
            return unit.end(held)
    return None


@dataclass(frozen=True, slots=True)
class FailedUnit:
    """An open unit of work whose deliveries have all failed in the same way."""

    uow: int
    outcome: Failure
    record: Record
    cache: SettingsCache
    then: Next | None = None  # the one entry that its holder gets next

    @contextmanager
    def compared(self) -> Iterator[None]:
        """Go on after a statement that found something to be not as it was."""
        try:
            yield
        except DataError as error:
            if not sql.is_refusal(error):
                raise
            self.cache.forget()

    def read(self) -> list[TakenEntry]:
        """Its entries; what their policy follows from is cached."""
        held = []
        for row in sql.run("look_unit", {"uow": self.uow, "now": self.record.now}):
            held.append(TakenEntry(*row[:7]))
            _, queue_id, *attributes, version = row[7:]
            if queue_id is not None:
                self.cache.note([QueueAttributes(queue_id, *attributes)], version)
        return held

    def end(self, held: Sequence[TakenEntry]) -> Ended | None:
        """Count a backout of each entry, and end the unit of work by one statement.

        Returns:
            None if it takes more than one statement; then nothing was changed.

        Raises:
            DataError: something is not as it was; nothing was changed.
        """
        read = self.cache.rules_of({entry.queue_id for entry in held})
        rules = rules_for(self.outcome, read)
        entries = [entry.counted() for entry in held]
        dispositions = decide_all(entries, self.outcome, rules)
        delays_ms = [
            milliseconds(one.after)
            for one in dispositions
            if isinstance(one, Redeliver)
        ]
        if len(delays_ms) == len(entries):
            policy = self.cache.policy(rules)
            if self.then is not None and not any(delays_ms):
                again = self.redeliver(entries[0], self.then, policy)
                if again:
                    return Ended(dispositions, again)
            ending = EndedUnit(
                self.uow, policy, then=self.then if all(delays_ms) else None
            )
            put_back(entries, delays_ms, self.record, ending=ending)
            return Ended(dispositions, ending.following)
        to = {one.to if isinstance(one, DeadLetter) else "" for one in dispositions}
        if "" in to or len(to) > 1:
            return None
        following = self.dead_letter(entries, to.pop(), rules)
        return None if following is None else Ended(dispositions, following)

    def redeliver(self, entry: TakenEntry, then: Next, policy: str) -> list[Delivery]:
        """Back out the only entry and get it again; none if another one comes first."""
        parameters = {
            **self.record.parameters(),
            **single(entry),
            "uow": self.uow,
            "expires_at": entry.expires_at,
            "lows": lows_of(then.queue),
            "last_lane": PRIORITIES.index(entry.priority) + 1,
            "queue": then.queue,
            "pooled": then.pooled,
            "policy": policy,
            "most_records": settings.BROKER_MAX_REDELIVERY_RECORDS,
            "timeout": timedelta(seconds=settings.BROKER_TRANSACTION_TIMEOUT_S),
        }
        (row,) = sql.run("redeliver", parameters)
        return [] if row[0] is None else [Delivery(*row)]

    def dead_letter(
        self,
        entries: Sequence[TakenEntry],
        to: str,
        rules: Mapping[int, AddressSetting],
    ) -> list[Delivery] | None:
        """Copy the entries to their dead letter address, and get what comes next; None
        if a queue must be created first, or no queue takes one of them."""
        route, lifetime = self.cache.destination(to)
        cause = cause_of(self.outcome)
        detail = self.record.detail | {"cause": cause.value}
        record = replace(self.record, kind=Kind.DEAD_LETTER, detail=detail)
        refusing = refusals(
            entries, route, record, cause, as_ibm=False, lifetime=lifetime
        )
        made = all(has_queue(route, rule) for rule in rules.values())
        if not made or not all(map(route.takes, refusing)):
            self.cache.destinations.clear()
            return None
        policy = self.cache.policy(rules)
        ending = EndedUnit(self.uow, policy, route.text, self.then)
        copies = entries, route, refusing, record, cause
        store_copies(*copies, lifetime=lifetime, ending=ending)
        return ending.following


def has_queue(route: Route, rule: AddressSetting) -> bool:
    """Whether no queue must be auto-created for the dead letters of an address."""
    if not rule.auto_create_dead_letter_resources:
        return True
    prefix, suffix = rule.dead_letter_queue_prefix, rule.dead_letter_queue_suffix
    name = name_for(rule.match, prefix or "", suffix or "")
    return any(taker.name == name for taker in route.queues)
