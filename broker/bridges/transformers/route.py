"""``route``: choose the destination of a message by selectors.

    when.1 = region = 'north' AND amount > 100
    to.1 = queue:orders.north
    when.2 = test = TRUE
    to.2 = refuse
    otherwise = topic:orders.others

The selectors are evaluated in the order of their numbers; the first that matches
decides. ``queue:NAME`` and ``topic:NAME`` are destinations at the target, ``target`` is
the link's own destination, and ``refuse`` consumes the message without sending it. A
message that no selector matches goes to ``otherwise``, by default ``target``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from broker.bridges.providers.interface import Destination
from broker.bridges.transformers.registry import (
    BranchTo,
    Context,
    NoTransfer,
    Outcome,
    transforms,
)
from broker.errors.messages import InvalidSelector
from broker.formats.selectors import Selector, document, parse
from broker.queueing.store import NewMessage

NUMBERED = re.compile(r"(when|to)\.([1-9][0-9]{0,5})")
OTHERWISE, REFUSE, TARGET = "otherwise", "refuse", "target"
KEPT = 64  # most cached plans

Way = Destination | NoTransfer | None  # None: the link's own destination


@dataclass(frozen=True, slots=True)
class Plan:
    """The parsed cases."""

    cases: tuple[tuple[Selector, Way], ...]
    otherwise: Way


def check(properties: Mapping[str, str]) -> None:
    planned(tuple(properties.items()))


@transforms("route", check=check, label="Route by selector")
def route(message: NewMessage, context: Context) -> Outcome:
    """Send a message to the destination of the first selector that it matches.

    ``when.1`` and ``to.1``, ``when.2`` and ``to.2``, …, and ``otherwise``.
    """
    plan = planned(tuple(context.properties.items()))
    seen = document(message)
    way = next((to for when, to in plan.cases if when.matches(seen)), plan.otherwise)
    if isinstance(way, Destination):
        return BranchTo(way, message)
    return message if way is None else way


@lru_cache(KEPT)
def planned(pairs: tuple[tuple[str, str], ...]) -> Plan:
    """Parse the properties of a target.

    Raises:
        ValueError: a property is invalid, or missing.
    """
    otherwise: Way = None
    found: dict[str, dict[int, str]] = {"when": {}, "to": {}}
    for key, text in pairs:
        if key == OTHERWISE:
            otherwise = way_of(key, text)
        elif numbered := NUMBERED.fullmatch(key):
            found[numbered[1]][int(numbered[2])] = text
        else:
            raise ValueError(
                f"There is no property {key[:64]!r}. Write when.1, to.1, when.2, to.2"
                " and so on, and otherwise."
            )
    when, to = found["when"], found["to"]
    if alone := sorted(when.keys() ^ to.keys()):
        one, other = ("when", "to") if alone[0] in when else ("to", "when")
        raise ValueError(f"{one}.{alone[0]} has no {other}.{alone[0]}. Write both.")
    if not pairs:
        raise ValueError("There are no rules. Write when.1 and to.1.")
    numbers = sorted(when)
    return Plan(
        tuple((selector(n, when[n]), way_of(f"to.{n}", to[n])) for n in numbers),
        otherwise,
    )


def selector(number: int, text: str) -> Selector:
    try:
        return parse(text)
    except InvalidSelector as error:
        raise ValueError(f"when.{number}: {error}") from None


def way_of(key: str, text: str) -> Way:
    """The destination that a property names."""
    if text == TARGET:
        return None
    if text == REFUSE:
        return NoTransfer()
    kind, _, name = text.partition(":")
    if kind not in ("queue", "topic") or not name.strip() or not name.isprintable():
        raise ValueError(
            f"{key} is {text[:64]!r}. Write queue:NAME, topic:NAME, target or refuse."
        )
    return Destination(name, is_topic=kind == "topic")
