"""What a principal may see of messages, at one moment.

Rules mask for every user. A user may lift a rule for one request, with a reason that is
recorded in the audit. This needs the authority ``unmask`` for every queue of the rule
that the message is or was on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker.errors.redaction import MaskedMessage, MaskedSearch, UnmaskingNeedsReason
from broker.formats.mq.coding import Coding
from broker.formats.selectors.parsing import parse
from broker.formats.wildcards import matches
from broker.models import Act, Address, Queue, RedactionRule
from broker.security import audit, authorities
from broker.security.authorities import GrantedAuthorities, Principal
from broker.security.redaction import targets
from broker.security.redaction.masking import (
    MaskedBody,
    marked,
    mask_body,
    mask_properties,
    mask_text,
)
from broker.security.redaction.message_queues import EVERY, queues_of
from broker.security.redaction.targets import OF_BODIES

Kind = RedactionRule.Kind
Rules = Sequence[RedactionRule]


@dataclass(frozen=True, slots=True)
class Veil:
    """The rules that mask one message; empty if none does."""

    rules: Rules = ()
    may_lift: bool = False

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.rules)

    @property
    def mark(self) -> str:
        """The mark for a part of the body; empty if no rule masks the body."""
        names = [rule.name for rule in self.rules if rule.kind in OF_BODIES]
        return marked(names) if names else ""

    def body(
        self, body: bytes, content_type: str, coding: Coding | None = None
    ) -> MaskedBody:
        return mask_body(body, content_type, self.rules, coding)

    def text(self, text: str) -> str:
        """Another text about the message, masked by the rules with a pattern."""
        return mask_text(text, self.rules)

    def properties(
        self, properties: Mapping[str, Any]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The masked properties, and the rules that masked something."""
        return mask_properties(properties, self.rules)


CLEAR = Veil()
# For more messages than this, the rules of each message are not looked up: the
# principal must be able to lift every rule.
MOST = 2000


@dataclass(frozen=True, slots=True)
class Sight:
    """The active rules, and the authorities of a principal."""

    rules: Rules
    held: GrantedAuthorities
    is_lifting: bool = False  # whether rules that the principal may lift are lifted

    def veils(self, message_ids: Iterable[int]) -> dict[int, Veil]:
        """The veil of each message, by id. No query if there are no rules."""
        ids = list(message_ids)
        if not self.rules:
            return dict.fromkeys(ids, CLEAR)
        places = queues_of(ids)
        return {one: self.over(places.get(one, frozenset({EVERY}))) for one in ids}

    def veil(self, message_id: int) -> Veil:
        return self.veils([message_id])[message_id]

    def over(self, queues: Iterable[str]) -> Veil:
        """The veil of a message that is, or was, on these queues."""
        names = list(queues)
        held = [
            (rule, self.may_lift(rule, names))
            for rule in self.rules
            if any(covers(rule, name) for name in names)
        ]
        if self.is_lifting:
            held = [(rule, may) for rule, may in held if not may]
        return Veil(tuple(rule for rule, _ in held), all(may for _, may in held))

    def may_lift(self, rule: RedactionRule, queues: Iterable[str]) -> bool:
        return all(
            self.held.everywhere("unmask") or self.held.on("unmask", name)
            for name in queues
            if covers(rule, name)
        )

    def beyond(self) -> list[RedactionRule]:
        """The rules that this principal may not lift for all queues."""
        if not self.rules or self.held.everywhere("unmask"):
            return []
        names = {*Queue.objects.values_list("name", flat=True)}
        names |= {*Address.objects.values_list("name", flat=True)}
        return [rule for rule in self.rules if not self.may_lift(rule, names)]

    def require_search(self, asked: str, property_: str | None = None) -> None:
        """Refuse a search that would reveal masked values of any queue.

        Args:
            asked: the search, as text.
            property_: the name of the property searched; None: bodies.

        Raises:
            MaskedSearch: it would reveal them.
        """
        if found := [rule.name for rule in self.beyond() if is_about(rule, property_)]:
            raise MaskedSearch(asked, found)


def covers(rule: RedactionRule, queue: str) -> bool:
    return queue == EVERY or matches(rule.queues, queue)


def is_about(rule: RedactionRule, property_: str | None) -> bool:
    """Whether a rule masks one property or, without a name, bodies."""
    if property_ is None:
        return rule.kind in OF_BODIES
    if rule.kind == Kind.PROPERTY:
        return targets.property_name(rule.target).fullmatch(property_) is not None
    return rule.kind == Kind.PATTERN


def sight_of(user: Principal, held: GrantedAuthorities | None = None) -> Sight:
    """What a principal may see now: the active rules and the principal's authorities.
    One query, and one for the authorities."""
    rules = tuple(RedactionRule.objects.filter(is_active=True))
    if not rules:
        return Sight((), authorities.NOTHING)
    return Sight(rules, authorities.held_by(user) if held is None else held)


def lifted(sight: Sight, reason: str, on: audit.Thing, **detail: Any) -> Sight:
    """The sight with liftable rules lifted; recorded in the audit.

    Args:
        sight: the sight of the principal.
        reason: the reason.
        on: the object that is viewed.
        detail: further facts for the audit.

    Raises:
        UnmaskingNeedsReason: the reason is empty.
    """
    if not reason.strip():
        raise UnmaskingNeedsReason
    names = [rule.name for rule in sight.rules]
    audit.record(Act.UNMASK, on, reason=reason, detail={"rules": names, **detail})
    return Sight(sight.rules, sight.held, is_lifting=True)


def require_clear(user: Principal, message_ids: Sequence[int]) -> None:
    """Refuse a principal who may not see all of these messages unmasked. More than
    ``MOST`` are not checked one by one: then the principal must be able to lift every
    rule.

    Raises:
        MaskedMessage: a rule masks one of them, and may not be lifted.
    """
    sight = sight_of(user)
    beyond = sight.beyond()
    if len(message_ids) > MOST and beyond:
        raise MaskedMessage([rule.name for rule in beyond])
    for veil in sight.veils(message_ids if beyond else ()).values():
        if veil and not veil.may_lift:
            raise MaskedMessage(veil.names)


def require_selector(user: Principal, selector: str) -> None:
    """Refuse a selector that would reveal masked values.

    Raises:
        InvalidSelector: it cannot be read.
        MaskedSearch: it names a masked property.
    """
    sight = sight_of(user)
    for name in sorted(parse(selector).names) if sight.rules and selector else ():
        sight.require_search(selector, name)
