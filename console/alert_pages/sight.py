"""Which alerts a user may see, and act on.

An alert of a queue needs the authority ``inquire`` there, an alert of a link the sight
of the link. Alerts of operations and of the disk are for everybody who sees queues.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from broker.alerts.acts import MAY
from broker.errors.alerts import NoSuchAlert
from broker.models import Alert, AlertRule, AlertSilence, Link
from broker.security.authorities import GrantedAuthorities, held_by
from dashboards.live.link_status import ENDS, ends_here, sees

VIEW = "broker.view_queue"
LINKS = "broker.view_link"
OPERATE = MAY
TARGETS = "broker.view_alerttarget"
TEST = "broker.change_alerttarget"
MOST = 500  # alerts that one page or response is made of
LINK = AlertRule.Condition.LINK
Viewer = User | AnonymousUser


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
    if any(one.condition == LINK for one in every) and user.has_perm(LINKS):
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


def silences(
    held: GrantedAuthorities, found: Iterable[AlertSilence]
) -> list[AlertSilence]:
    """The silences that the user may see: those of a name need its authority."""
    return [one for one in found if not one.queues or held.on("inquire", one.queues)]
