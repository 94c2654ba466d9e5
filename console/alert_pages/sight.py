"""Which alerts a user may see, and act on.

An alert of a queue needs the authority ``inquire`` there, an alert of a link the sight
of the link. Alerts of operations and of the disk are for everybody who sees queues.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from broker.alerts.acts import MAY
from broker.errors.alerts import InvalidAlert, NoSuchAlert
from broker.errors.groups import NoSuchGroup
from broker.models import Alert, AlertRule, AlertSilence, Link, Queue
from broker.monitoring import dead_letter_groups
from broker.security.authorities import GrantedAuthorities, held_by, require
from dashboards.live.link_status import ENDS, ends_here, sees

VIEW = "broker.view_queue"
LINKS = "broker.view_link"
OPERATE = MAY
TARGETS = "broker.view_alerttarget"
TEST = "broker.change_alerttarget"
WHOLE_RULE = "A whole rule is silenced by those who may inquire every queue."
MOST = 500  # alerts that one page or response is made of
LINK = AlertRule.Condition.LINK
Viewer = User | AnonymousUser | None  # None: the process itself


def standing() -> QuerySet[Alert]:
    """All alerts that fire or are acknowledged: the worst first, then the newest."""
    found = Alert.objects.filter(is_settled=False, state__in=Alert.STANDING)
    return found.order_by("-state", "severity", "-fired_at", "-pk")


def visible(
    alerts: Iterable[Alert], user: Viewer, held: GrantedAuthorities
) -> list[Alert]:
    """Those of the alerts that the user may see."""
    every = list(alerts)
    links: set[str] = set()
    may_see_links = user is None or user.has_perm(LINKS)
    if may_see_links and any(one.condition == LINK for one in every):
        known = Link.objects.select_related(*ENDS)
        links = {str(one) for one in known if sees(held, ends_here(one))}
    return [one for one in every if may_see(one, held, links)]


def may_see(alert: Alert, held: GrantedAuthorities, links: set[str]) -> bool:
    if alert.condition == LINK:
        return alert.subject in links
    return not alert.queue or held.on("inquire", alert.queue)


def found(user: Viewer, alert_id: int) -> Alert:
    """One alert that the user may see.

    Raises:
        NoSuchAlert: there is none, or it is hidden.
    """
    every = Alert.objects.exclude(state=Alert.State.PENDING).select_related("rule")
    seen = visible(every.filter(pk=alert_id), user, held_by(user))
    if not seen:
        raise NoSuchAlert("alert", str(alert_id))
    return seen[0]


def require_scope(user: Viewer, *, queue: str = "", fingerprint: str = "") -> None:
    """Check that the user may silence the alerts of a queue, or of a cause; without
    either, those of a whole rule, which has alerts of any queue.

    Raises:
        NotAuthorized, NoSuchGroup, InvalidAlert: they may not see all of these.
    """
    held = held_by(user)
    if queue:
        require(user, "inquire", queue)
    elif fingerprint:
        every = Queue.objects.values_list("pk", "name")
        seen = [pk for pk, name in every if held.on("inquire", name)]
        if dead_letter_groups.pattern_of(fingerprint, seen) is None:
            raise NoSuchGroup(fingerprint)
    elif not held.everywhere("inquire"):
        raise InvalidAlert("queue", WHOLE_RULE)


def silences(
    held: GrantedAuthorities, found: Iterable[AlertSilence]
) -> list[AlertSilence]:
    """The silences that the user may see: those of a name need its authority."""
    return [one for one in found if not one.queues or held.on("inquire", one.queues)]
