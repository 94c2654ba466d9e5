"""What stands around every page: where this is, where one can go, what waits there.

Everything is worked out when a template asks for it, so that a page without the frame
(a fragment, an error) costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from django.conf import settings
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from broker.client.dispatch import stoppages
from broker.security import authorities
from console.layout import settings_problems as findings
from console.second_factors import gate
from dashboards.live import attention, depths, link_status

ENVIRONMENTS = ("dev", "stage", "prod")  # that have a colour of their own
THEMES = ("light", "dark", "system")
DENSITIES = ("normal", "compact")
COUNTS_AS = "_counts_as"  # attribute of a request: the view of another place


@dataclass(frozen=True, slots=True)
class Destination:
    """A place in the navigation; shown to those who have its permission."""

    name: str
    icon: str
    view: str
    permission: str
    key: str = ""  # after g
    views: tuple[str, ...] = ()  # that are also this place
    counts_groups: bool = False
    counts_findings: bool = False
    counts_failed: bool = False  # links
    leaves: bool = False
    url: str = ""
    is_here: bool = False


DESTINATIONS = (
    Destination(
        "Overview",
        "overview",
        "console:overview",
        "broker.view_queue",
        key="o",
    ),
    Destination(
        "Queues",
        "queues",
        "console:queues",
        "broker.view_queue",
        key="q",
        views=(
            "console:queue",
            "console:message",
            "console:order",
            "console:reset_counters",
        ),
    ),
    Destination(
        "Messages",
        "messages",
        "console:messages",
        "broker.view_queue",
        key="m",
        views=("console:order_found", "console:edit_view", "console:by_client_id"),
    ),
    Destination(
        "Dead letters",
        "dead",
        "console:dead_letters",
        "broker.view_queue",
        key="d",
        views=(
            "console:dead_letter_group",
            "console:order_letters",
            "console:say_of_group",
            "console:rules",
            "console:rule_table",
            "console:switch_rules",
        ),
        counts_groups=True,
    ),
    Destination(
        "Discard bin",
        "discards",
        "console:discards",
        "broker.view_queue",
        key="b",
        views=("console:restore",),
    ),
    Destination(
        "Scheduled",
        "delayed",
        "console:scheduled",
        "broker.view_queue",
        key="s",
    ),
    Destination(
        "Units of work",
        "in-flight",
        "console:units",
        "broker.view_queue",
        key="u",
        views=("console:unit", "console:back_out_unit"),
    ),
    Destination(
        "Consumers",
        "consumers",
        "console:consumers",
        "broker.view_queue",
        key="c",
    ),
    Destination(
        "Connections",
        "connections",
        "console:connections",
        "broker.view_queue",
        key="n",
        views=(
            "console:connection",
            "console:close_connection",
            "console:close_endpoint",
        ),
    ),
    Destination(
        "Bridges",
        "bridges",
        "console:bridges",
        "broker.view_link",
        key="l",
        views=(
            "console:link",
            *(f"console:{one}_link" for one in ("start", "pause", "resume", "stop")),
            "console:commit_branch",
            "console:roll_back_branch",
        ),
        counts_failed=True,
    ),
    Destination(
        "Credentials",
        "credentials",
        "console:credentials",
        "broker.view_credential",
        key="k",
        views=("console:create_credential", "console:revoke_credential"),
    ),
    Destination(
        "Operations",
        "operations",
        "console:operations",
        "broker.view_queue",
        key="p",
        views=("console:operation",),
    ),
    Destination(
        "Health",
        "health",
        "console:health",
        "broker.view_queue",
        key="h",
        views=("console:commit_prepared", "console:back_out_prepared"),
        counts_findings=True,
    ),
    Destination(
        "Reports",
        "reports",
        "dashboards:reports",
        "dashboards.view_report",
        key="r",
        views=("dashboards:report",),
    ),
    Destination(
        "Audit",
        "audit",
        "console:audit",
        "broker.view_auditrecord",
        key="a",
        views=("console:audit_record",),
    ),
    Destination(
        "Settings",
        "settings",
        "admin:index",
        "",
        views=("console:effective",),
        leaves=True,
    ),
)


class Frame:
    """Made for each page; templates know it as ``frame``."""

    themes = THEMES
    densities = DENSITIES

    def __init__(self, request: HttpRequest) -> None:
        self.request = request

    @property
    def environment(self) -> str:
        """The colour of the band; any other name is taken as seriously as prod."""
        known = settings.ENVIRONMENT in ENVIRONMENTS
        return settings.ENVIRONMENT if known else "prod"

    @property
    def environment_word(self) -> str:
        """Its name, beside the band: a colour is never the only sign."""
        return str(settings.ENVIRONMENT)

    @property
    def title_prefix(self) -> str:
        word = self.environment_word
        return "" if word == "dev" else f"{word.upper()} · "

    @property
    def theme_choice(self) -> str:
        chosen = self.request.COOKIES.get("theme", "")
        return chosen if chosen in THEMES else "system"

    @property
    def theme(self) -> str:
        """What the cookie chose; empty where the system decides."""
        return "" if self.theme_choice == "system" else self.theme_choice

    @cached_property
    def now(self) -> datetime:
        return timezone.now()

    @property
    def zone(self) -> str:
        """What the zone of all times on the page is called now: UTC, CEST."""
        return timezone.localtime(self.now).tzname() or "UTC"

    @property
    def zone_name(self) -> str:
        """Its whole name, which browsers know, too."""
        return timezone.get_current_timezone_name()

    @property
    def density(self) -> str:
        chosen = self.request.COOKIES.get("density", "")
        return chosen if chosen in DENSITIES else DENSITIES[0]

    @cached_property
    def is_live(self) -> bool:
        return self.may("broker.view_queue")

    @cached_property
    def held(self) -> authorities.GrantedAuthorities:
        """What this person may do; asked once for all that stands around the page."""
        return authorities.held_by(self.request.user)

    @cached_property
    def stopped(self) -> list[str]:
        """The queues, of those one may see, whose ConnectionConsumers stand still."""
        names = [one.queue.name for one in stoppages.standing()]
        return [name for name in names if self.held.on("inquire", name)]

    @cached_property
    def failed(self) -> list[str]:
        """The links, of those one may see, that stopped by themselves."""
        return link_status.failed(self.held) if self.may("broker.view_link") else []

    @cached_property
    def dead_letters(self) -> int:
        return depths.dead_letters(self.held)

    @cached_property
    def groups(self) -> int:
        """Of dead letters, that ask for somebody; some seconds ago at most."""
        return attention.count(self.held)

    @cached_property
    def findings(self) -> int:
        """How many settings should be put right, some seconds ago at most."""
        return findings.count(self.request.user, self.held)

    @cached_property
    def destinations(self) -> list[Destination]:
        """The places that exist and that this person may see."""
        own = getattr(self.request.resolver_match, "view_name", "")
        here = getattr(self.request, COUNTS_AS, own)
        return [
            replace(place, url=url, is_here=here == place.view or here in place.views)
            for place in DESTINATIONS
            if self.may_see(place) and (url := url_of(place.view))
        ]

    def may_see(self, place: Destination) -> bool:
        if not place.permission:
            return self.request.user.is_staff and not gate.is_waiting(self.request)
        return self.may(place.permission)

    def may(self, permission: str) -> bool:
        """Also of who has signed in, but for a second factor."""
        is_waiting = gate.is_waiting(self.request)
        return not is_waiting and self.request.user.has_perm(permission)


def counts_as(request: HttpRequest, view: str) -> None:
    """Let a page be shown as part of another place than its own view is."""
    setattr(request, COUNTS_AS, view)


def frame(request: HttpRequest) -> dict[str, Frame]:
    """Context processor."""
    return {"frame": Frame(request)}


def url_of(view: str, *key: object) -> str:
    """Where a view is; empty where it is not installed."""
    try:
        return reverse(view, args=key)
    except NoReverseMatch:
        return ""
