"""The frame around every page: environment, destinations and their badges.

Values are computed when a template uses them, so that a response without the frame (a
fragment, an error) needs no queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from django.apps import apps
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import get_language

from broker.monitoring import dead_letter_queues
from broker.problems import conditions
from broker.problems.problem import Name
from broker.security import authorities
from console.accounts import sign_in
from console.alerts import causes
from console.layout import settings_problems
from console.layout.destinations import DESTINATIONS, Destination
from console.layout.navigation import COUNTS_AS, DENSITIES, THEMES, TIMES, url_of
from console.runtime.prefix import root
from console.second_factors import gate
from dashboards.live import attention, languages, link_status, rates

ENVIRONMENTS = ("dev", "stage", "prod")  # environments with a colour of their own


class Frame:
    """The frame of one page; ``frame`` in templates."""

    themes = THEMES
    densities = DENSITIES
    times_choices = TIMES
    rates = tuple(rates.SECONDS)
    languages = languages.LANGUAGES

    def __init__(self, request: HttpRequest) -> None:
        self.request = request

    @property
    def root(self) -> str:
        """The path below which all pages are."""
        return root()

    @property
    def has_schedules(self) -> bool:
        """Whether Settings have the times of reports."""
        return apps.is_installed("django_celery_beat")

    @property
    def sign_in_url(self) -> str:
        return sign_in.url()

    @property
    def environment(self) -> str:
        """The environment, as a colour class; unknown names look like prod."""
        known = settings.BACKOUT_ENVIRONMENT in ENVIRONMENTS
        return settings.BACKOUT_ENVIRONMENT if known else "prod"

    @property
    def environment_word(self) -> str:
        """The environment's name, so that colour is never the only sign."""
        return str(settings.BACKOUT_ENVIRONMENT)

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
        """The theme in the cookie; empty to follow the system."""
        return "" if self.theme_choice == "system" else self.theme_choice

    @cached_property
    def now(self) -> datetime:
        return timezone.now()

    @property
    def zone(self) -> str:
        """The present abbreviation of the page's time zone: UTC, CEST."""
        return timezone.localtime(self.now).tzname() or "UTC"

    @property
    def zone_name(self) -> str:
        """The full name of the page's time zone."""
        return timezone.get_current_timezone_name()

    @property
    def density(self) -> str:
        chosen = self.request.COOKIES.get("density", "")
        return chosen if chosen in DENSITIES else DENSITIES[0]

    @property
    def times(self) -> str:
        """How times are told: absolute, relative to now, or both."""
        chosen = self.request.COOKIES.get("times", "")
        return chosen if chosen in TIMES else TIMES[0]

    @property
    def language(self) -> str:
        return get_language()

    @property
    def language_choice(self) -> str:
        """The language in the cookie; empty for that of the browser."""
        chosen = self.request.COOKIES.get(languages.COOKIE, "")
        return chosen if chosen in languages.LANGUAGES else ""

    @property
    def texts_of_scripts(self) -> Mapping[str, str | list[str]]:
        return languages.texts_of_scripts(self.language)

    @property
    def rate(self) -> str:
        """How often live numbers change at most."""
        return rates.chosen(self.request.COOKIES)

    @property
    def rate_s(self) -> int:
        return int(rates.SECONDS[self.rate])

    @cached_property
    def is_live(self) -> bool:
        return self.may("broker.view_queue")

    @cached_property
    def held(self) -> authorities.GrantedAuthorities:
        """The user's authorities; queried once for the whole page."""
        return authorities.held_by(self.request.user)

    @cached_property
    def stopped(self) -> list[str]:
        """Queues, of those the user may see, with stopped ConnectionConsumers."""
        names = [one.subject for one in conditions.of(Name.STOPPED)]
        return [name for name in names if self.held.on("inquire", name)]

    @cached_property
    def failed(self) -> list[str]:
        """Links, of those the user may see, that stopped after an error."""
        return link_status.failed(self.held) if self.may("broker.view_link") else []

    @cached_property
    def alerts(self) -> int:
        """Causes that need somebody now, as Overview and Alerts list them; up to some
        seconds old."""
        return causes.count(self.request.user, self.held)

    @cached_property
    def dead_letters(self) -> int:
        return dead_letter_queues.count(self.held)

    @cached_property
    def groups(self) -> int:
        """Dead-letter groups that need attention; up to some seconds old."""
        return attention.count(self.held)

    @cached_property
    def findings(self) -> int:
        """Configuration problems; up to some seconds old."""
        return settings_problems.count(self.request.user, self.held)

    @cached_property
    def destinations(self) -> list[Destination]:
        """The entries that exist and that the user may see."""
        own = getattr(self.request.resolver_match, "view_name", "")
        here = getattr(self.request, COUNTS_AS, own)
        return [
            replace(place, url=url, is_here=place.has(here))
            for place in DESTINATIONS
            if self.may_see(place) and (url := url_of(place.view))
        ]

    def may_see(self, place: Destination) -> bool:
        if not place.permission:
            return self.request.user.is_staff and not gate.is_waiting(self.request)
        return self.may(place.permission)

    def may(self, permission: str) -> bool:
        """Whether the user has a permission; never without a required second factor."""
        is_waiting = gate.is_waiting(self.request)
        return not is_waiting and self.request.user.has_perm(permission)


def frame(request: HttpRequest) -> dict[str, Frame]:
    """Context processor."""
    return {"frame": Frame(request)}
