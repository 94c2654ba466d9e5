"""Expiry of arriving messages, by the settings of their address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from broker import sql
from broker.config.address_settings import by_specificity, decide
from broker.models import AddressSetting
from broker.queueing.store import NewMessage

FIELDS = ("no_expiry", "expiry_delay_ms", "min_expiry_delay_ms", "max_expiry_delay_ms")
# A thousand years; longer times to live are cut to this.
LONGEST_MS = 1000 * 365 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Ruling:
    """The fields of one address setting that concern arrivals."""

    match: str
    no_expiry: bool | None
    expiry_delay_ms: int | None
    min_expiry_delay_ms: int | None
    max_expiry_delay_ms: int | None
    at: datetime
    is_guarded: bool

    @property
    def setting(self) -> AddressSetting:
        """The fields about arrivals as an address setting, to be merged with others."""
        fields = {field: getattr(self, field) for field in FIELDS}
        return AddressSetting(match=self.match, **fields)


@dataclass(frozen=True, slots=True)
class ArrivalLookup:
    """Data that a put needs about its address."""

    rule: AddressSetting  # the merged setting; only its fields about arrivals are used
    # The database's time; None: no setting has a field about arrivals.
    at: datetime | None = None
    is_guarded: bool | None = None  # whether a queue must check puts; None: unknown

    def applied(
        self, messages: Sequence[NewMessage], *, now: datetime | None
    ) -> list[NewMessage]:
        """The messages, with the expiry that the setting gives them."""
        if self.at is None:
            return list(messages)
        moment = now or self.at
        return [
            message
            if (at := expiry(self.rule, message.expires_at, moment))
            == message.expires_at
            else replace(message, expires_at=at)
            for message in messages
        ]


def look_at(address: str) -> ArrivalLookup:
    """The arrival rule of an address, as it is now. One query; the result is never
    cached."""
    rulings = sql.fetch("look", Ruling, address=address)
    matching = by_specificity(address, [ruling.setting for ruling in rulings])
    decided = {field: decide(field, matching).value for field in FIELDS}
    rule = AddressSetting(match=address, **decided)
    if not rulings:
        return ArrivalLookup(rule)
    return ArrivalLookup(rule, rulings[0].at, rulings[0].is_guarded)


def applied(
    address: str, messages: Sequence[NewMessage], *, now: datetime | None
) -> list[NewMessage]:
    """Messages with the expiry that the settings of their address give them.

    Args:
        address: the address that they are put to.
        messages: the messages as the sender sent them.
        now: the current time; the database's clock when not given.
    """
    return look_at(address).applied(messages, now=now)


def lifetime_on(address: str) -> timedelta | None:
    """The time to live that an address gives to a copy without an expiry, from 0 (it
    expires at once) to ``LONGEST_MS``; None: no limit."""
    return lifetime_by(look_at(address).rule)


def lifetime_by(rule: AddressSetting) -> timedelta | None:
    """The lifetime by merged settings; see ``lifetime_on``."""
    if rule.no_expiry:
        return None
    spans = (rule.expiry_delay_ms, rule.max_expiry_delay_ms, rule.min_expiry_delay_ms)
    lives_ms = next((ms for one in spans if (ms := defined(one)) is not None), None)
    return None if lives_ms is None else timedelta(milliseconds=lives_ms)


def expiry(
    rule: AddressSetting, expires_at: datetime | None, now: datetime
) -> datetime | None:
    """The time at which an arriving message expires; None: never.

    The first of these settings that applies decides: no expiry; the expiry delay, for a
    message without an expiry; the maximum and minimum time to live. A message with a
    time to live of 0 is stored, and the next get or scan ends it.

    Args:
        rule: the merged settings of its address.
        expires_at: the expiry that the sender wants; None: never.
        now: the time of the arrival.

    Source:
        ActiveMQ Artemis manual, "Message Expiry", and PostOfficeImpl.setExpiration.
    """
    if expires_at is None:
        span = lifetime_by(rule)
        return None if span is None else now + span
    if rule.no_expiry:
        return None
    if defined(rule.expiry_delay_ms) is None:
        longest, least = map(
            defined, (rule.max_expiry_delay_ms, rule.min_expiry_delay_ms)
        )
        if longest is not None and expires_at > after(now, longest):
            return after(now, longest)
        if least is not None and expires_at < after(now, least):
            return after(now, least)
    return expires_at


def defined(span_ms: int | None) -> int | None:
    """The milliseconds of a setting; None if the value is -1."""
    return None if span_ms is None or span_ms < 0 else min(span_ms, LONGEST_MS)


def after(now: datetime, span_ms: int) -> datetime:
    return now + timedelta(milliseconds=span_ms)
