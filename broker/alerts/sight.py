"""Which problems and alerts a user may see, and act on.

One of a queue needs the authority ``inquire`` there, one of a link the sight of the
link. Those of operations and of the disk are for everybody who sees queues.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import QuerySet

from broker.bridges.configured import ENDS, ends_here
from broker.errors.alerts import InvalidAlert, NoSuchAlert
from broker.models import Alert, AlertSilence, Link
from broker.monitoring import visible_groups
from broker.problems.causes import cause_of
from broker.problems.conditions import table
from broker.problems.problem import Problem
from broker.security import authorities
from broker.security.authorities import GrantedAuthorities, Principal

VIEW = "broker.view_queue"
OPERATE = "broker.operate_alert"  # permission to acknowledge and to silence
TARGETS = "broker.view_alerttarget"
TEST = "broker.change_alerttarget"
WHOLE_RULE = "A whole rule is silenced by those who may inquire every queue."
MOST = 500  # most alerts that are read for one page or response


def standing() -> QuerySet[Alert]:
    """All alerts that fire or are acknowledged: the worst first, then the newest."""
    found = Alert.objects.filter(is_settled=False, state__in=Alert.STANDING)
    return found.order_by("-state", "severity", "-fired_at", "-pk")


def firing() -> QuerySet[Alert]:
    """Firing alerts that nobody has acknowledged, at most ``MOST``."""
    return standing().filter(state=Alert.State.FIRING)[:MOST]


def visible(
    alerts: Iterable[Alert], user: Principal, held: GrantedAuthorities
) -> list[Alert]:
    """Those of the alerts that the user may see."""
    every, ends = list(alerts), dict[str, Collection[str]]()
    if any(is_of_link(one) for one in every):
        known = Link.objects.select_related(*ENDS)
        ends = {str(one): ends_here(one) for one in known}

    def is_visible(one: Alert) -> bool:
        queues = ends.get(one.subject) if is_of_link(one) else {one.queue} - {""}
        return queues is not None and may_know(one.condition, queues, user, held)

    return list(filter(is_visible, every))


def is_of_link(alert: Alert) -> bool:
    row = table().get(alert.condition)
    return row is not None and row.needs_each_queue


def of_problems(
    found: Iterable[Problem], user: Principal, held: GrantedAuthorities
) -> list[Problem]:
    """Those of the problems that the user may know of."""
    return [one for one in found if may_know(one.condition, one.queues, user, held)]


def may_know(
    condition: str, queues: Collection[str], user: Principal, held: GrantedAuthorities
) -> bool:
    """Whether the user may know of a problem of these queues."""
    # None: the application that defined the condition is not installed any more.
    row, is_each = table().get(condition), False
    if row is not None:
        is_each = row.needs_each_queue
        needs = row.permission if user is not None else ""
        if needs and not user.has_perm(needs):  # type: ignore[union-attr]
            return False
        if row.is_of_all_queues and not held.everywhere("inquire"):
            return False
    seen = [held.on("inquire", one) for one in queues]
    return not seen or (all(seen) if is_each else any(seen))


def found(user: Principal, held: GrantedAuthorities, alert_id: int) -> Alert:
    """One alert that the user may see.

    Raises:
        NoSuchAlert: there is none, or it is hidden.
    """
    every = Alert.objects.exclude(state=Alert.State.PENDING).select_related("rule")
    seen = visible(every.filter(pk=alert_id), user, held)
    if not seen:
        raise NoSuchAlert("alert", str(alert_id))
    return seen[0]


def firing_of(
    user: Principal, held: GrantedAuthorities, numbers: Collection[int]
) -> list[Alert]:
    """The alerts that fire of the causes of some alerts, of those that the user may
    see; without numbers, of all causes, the worst first, at most ``MOST``.

    Raises:
        NoSuchAlert: there is no such alert, or it is hidden.
    """
    every = visible(firing(), user, held)
    if not numbers:
        return every
    known = Alert.objects.exclude(state=Alert.State.PENDING)
    named = visible(known.filter(pk__in=numbers), user, held)
    if missing := set(numbers) - {one.pk for one in named}:
        raise NoSuchAlert("alert", str(min(missing)))
    causes = {cause_of(one) for one in named}
    every = [one for one in every if cause_of(one) in causes]
    return list({one.pk: one for one in (*named, *every)}.values())


def require_scope(user: Principal, *, queue: str, fingerprint: str) -> None:
    """Check that the user may silence the alerts of a queue, or of a cause; without
    either, those of a whole rule, which has alerts of any queue.

    Raises:
        NotAuthorized, NoSuchGroup, InvalidAlert: they may not see all of these.
    """
    held = authorities.held_by(user)
    if queue:
        authorities.require(user, "inquire", queue)
    elif fingerprint:
        visible_groups.parts_for(held, fingerprint)
    elif not held.everywhere("inquire"):
        raise InvalidAlert("queue", WHOLE_RULE)


def silences(
    held: GrantedAuthorities, found: Iterable[AlertSilence]
) -> list[AlertSilence]:
    """The silences that the user may see. A silence of a queue is seen only by those
    who may inquire the queue."""
    return [one for one in found if not one.queues or held.on("inquire", one.queues)]


def found_silence(held: GrantedAuthorities, silence_id: int) -> AlertSilence:
    """One silence that the user may see.

    Raises:
        NoSuchAlert: there is none, or it is hidden.
    """
    every = AlertSilence.objects.filter(pk=silence_id).select_related("rule")
    if not (seen := silences(held, every)):
        raise NoSuchAlert("silence", str(silence_id))
    return seen[0]
