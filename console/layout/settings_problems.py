"""Configuration problems that the user may see, and where to fix them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import Group
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from broker.alerts import sight
from broker.bridges import secrets
from broker.config.advice import Advice
from broker.models import AddressSetting, ConnectionFactory, ModelQueue, Queue
from broker.problems.conditions import table
from broker.problems.problem import Name
from broker.security.authorities import GrantedAuthorities, Principal
from dashboards.live import problems

About = Queue | ModelQueue | AddressSetting | ConnectionFactory
OF_ALL = {  # problems of all queues; listed first
    "dead-letter-queue-fills",
    "dead-letter-queue-too-short",
    "no-dead-letter-queue",
}
OF_SETTINGS = {  # problems that name the pattern of an address setting
    "attempts-of-zero",
    "attempts-without-address",
    "dead-letter-address-without-queue",
    "dead-letters-expire",
    "dead-letters-match-nothing",
    "delay-above-its-cap",
    "expiry-delays-crossed",
}
NO_SUCH_GROUP = "no-such-group"  # the problem names a group of users
LOST = "password-lost"  # the problem names a connection factory
SILENT = "process-silent"  # the problem names a process
FILLS = "disk-fills"  # the problem names a directory
UNATTENDED = "reports-wait"  # the problem names nothing


THINGS = {
    UNATTENDED: gettext_noop("runs that wait"),
    NO_SUCH_GROUP: gettext_noop("group that does not exist"),
    LOST: gettext_noop("connection factory"),
    SILENT: gettext_noop("process"),
    FILLS: gettext_noop("directory"),
}
KINDS: dict[type, str] = {
    ModelQueue: gettext_noop("model queue"),
    AddressSetting: gettext_noop("address setting"),
}


@dataclass(frozen=True, slots=True)
class SettingsLink:
    """A settings page that fixes a problem."""

    words: str
    url: str
    leaves: bool = True  # whether the link leaves the console for Settings


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and links to its settings."""

    advice: Advice
    about: About | None  # None: the problem's object does not exist
    places: Sequence[SettingsLink]  # only pages that the user may change

    @property
    def is_of_queue(self) -> bool:
        return isinstance(self.about, Queue)

    @property
    def thing(self) -> str:
        """What it is that has the problem."""
        kind = KINDS.get(type(self.about), gettext_noop("does not exist"))
        return gettext(THINGS.get(self.advice.code, kind))

    @property
    def has_settings(self) -> bool:
        """Whether settings can put it right."""
        return self.advice.code not in (SILENT, FILLS, UNATTENDED)


def advice_for(held: GrantedAuthorities) -> list[Advice]:
    """Problems of queues that the user may inquire; up to some seconds old if there are
    many queues. Five queries.
    """
    return found_for(None, held, [Name.SETTINGS])


def all_for(user: Principal, held: GrantedAuthorities) -> list[Advice]:
    """All problems that are put right on Health, those of one queue last."""
    return found_for(user, held, on_health())


def count(user: Principal, held: GrantedAuthorities) -> int:
    """The number of problems; up to some seconds old."""
    return len(found_for(user, held, on_health(), newest=False))


def on_health() -> list[Name]:
    """The conditions of the page, but for prepared units of work: it lists each."""
    rows = (one for one in table().values() if one.page == "health")
    return [one.name for one in rows if one.name != Name.PREPARED]


def found_for(
    user: Principal,
    held: GrantedAuthorities,
    names: Iterable[Name],
    *,
    newest: bool = True,
) -> list[Advice]:
    known = (one for name in names for one in problems.of(name.value, newest=newest))
    seen = sight.of_problems(known, user, held)
    seen.sort(key=lambda one: one.condition == Name.SETTINGS and one.code not in OF_ALL)
    return [
        Advice(next(iter(one.queues), one.subject), one.code, one.text, one.remedy)
        for one in seen
    ]


def findings(request: HttpRequest, found: Sequence[Advice]) -> list[Finding]:
    """Each problem with its object and the settings that the user may change."""
    elsewhere = {NO_SUCH_GROUP, LOST, SILENT, FILLS, UNATTENDED, *OF_SETTINGS}
    names = {one.queue for one in found if one.code not in elsewhere}
    about: dict[str, About] = {
        one.name: one
        for model in (ModelQueue, Queue)
        for one in model._default_manager.filter(name__in=names)
    }
    patterns = {one.queue for one in found if one.code in OF_SETTINGS}
    rules: dict[str, About] = {}
    if patterns:
        stored = AddressSetting.objects.filter(match__in=patterns)
        rules = {one.match: one for one in stored}
    factories: dict[str, About] = {}
    if any(one.code == LOST for one in found):
        factories = {str(one): one for one in secrets.with_passwords()}
    of_kinds: dict[str, dict[str, About]] = {LOST: factories}
    of_kinds |= {one: {} for one in (NO_SUCH_GROUP, SILENT, FILLS, UNATTENDED)}
    of_kinds |= dict.fromkeys(OF_SETTINGS, rules)
    whose = [of_kinds.get(one.code, about).get(one.queue) for one in found]
    return [
        Finding(one, thing, list(places(request, one, thing)))
        for one, thing in zip(found, whose, strict=True)
    ]


def places(
    request: HttpRequest, one: Advice, about: About | None
) -> Iterator[SettingsLink]:
    """The settings pages of a problem, the most likely first."""
    if one.code == "dead-letter-queue-fills":
        there = reverse("console:queue", args=[one.queue])
        yield SettingsLink(gettext("See its messages"), there, leaves=False)
    if one.code == UNATTENDED and request.user.has_perm("dashboards.view_report"):
        yield SettingsLink(
            gettext("Reports"), reverse("dashboards:reports"), leaves=False
        )
    if one.code == NO_SUCH_GROUP and may(request, "view", Group):
        yield SettingsLink(gettext("Groups"), page(Group, "changelist"))
    if about is not None and may(request, "change", type(about)):
        yield SettingsLink(gettext("Settings"), page(type(about), "change", about.pk))
    missing = {
        "no-dead-letter-queue": one.queue,
        "no-such-backout-queue": getattr(about, "backout_queue", ""),
    }.get(one.code)
    if missing and may(request, "add", Queue):
        query = urlencode({"name": missing})
        yield SettingsLink(gettext("Create it"), f"{page(Queue, 'add')}?{query}")
    if one.code == "threshold-never-reached" and may(request, "change", AddressSetting):
        yield SettingsLink(
            gettext("Address settings"), page(AddressSetting, "changelist")
        )


def may(request: HttpRequest, deed: str, model: type[Model]) -> bool:
    label, name = model._meta.app_label, model._meta.model_name
    return request.user.is_staff and request.user.has_perm(f"{label}.{deed}_{name}")


def page(model: type[Model], what: str, *key: int) -> str:
    about = model._meta
    return reverse(
        f"console_settings:{about.app_label}_{about.model_name}_{what}", args=key
    )
