"""Configuration problems that the user may see, and where to fix them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import Group
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from broker.bridges import secrets
from broker.config.advice import Advice
from broker.config.lint import advice
from broker.models import AddressSetting, ConnectionFactory, ModelQueue, Queue
from broker.monitoring import disk, silent_processes
from broker.security.authorities import GrantedAuthorities, Principal
from broker.security.users import User
from console import second_factors
from dashboards.live import cache
from dashboards.pipeline import unattended

KEY = "console.advice"
KEPT_S = 15
KEY_OF_SECRETS = "console.advice.secrets"
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
UNATTENDED = "reports-wait"  # the problem is of no one thing
KEY_OF_PROCESSES = "console.advice.processes"
PROCESSES_KEPT_S = 2
KEY_OF_REPORTS = "console.advice.reports"


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
    def is_of_model(self) -> bool:
        return isinstance(self.about, ModelQueue)

    @property
    def is_of_group(self) -> bool:
        return self.advice.code == NO_SUCH_GROUP

    @property
    def is_of_factory(self) -> bool:
        return self.advice.code == LOST

    @property
    def is_of_disk(self) -> bool:
        return self.advice.code == FILLS

    @property
    def is_of_process(self) -> bool:
        return self.advice.code == SILENT

    @property
    def is_of_reports(self) -> bool:
        return self.advice.code == UNATTENDED

    @property
    def is_of_setting(self) -> bool:
        return isinstance(self.about, AddressSetting)


def advice_for(held: GrantedAuthorities) -> list[Advice]:
    """Problems of queues that the user may inquire; up to some seconds old if there are
    many queues. Five queries.
    """
    return seen(held, cache.newest(KEY, advice, KEPT_S))


def all_for(user: Principal, held: GrantedAuthorities) -> list[Advice]:
    """All problems: of the disk, processes, reports, groups and passwords, then of the
    user's queues."""
    hang = cache.newest(KEY_OF_PROCESSES, of_processes, PROCESSES_KEPT_S)
    wait = cache.newest(KEY_OF_REPORTS, of_reports, KEPT_S)
    found = cache.newest(KEY_OF_SECRETS, of_secrets, KEPT_S) if sees(user) else []
    return [*of_disk(), *hang, *wait, *of_people(user), *found, *advice_for(held)]


def count(user: Principal, held: GrantedAuthorities) -> int:
    """The number of problems; up to some seconds old."""
    found = cache.recent(KEY_OF_SECRETS, of_secrets, KEPT_S) if sees(user) else []
    hang = cache.recent(KEY_OF_PROCESSES, of_processes, PROCESSES_KEPT_S)
    wait = cache.recent(KEY_OF_REPORTS, of_reports, KEPT_S)
    of_queues = seen(held, cache.recent(KEY, advice, KEPT_S))
    of_users = len(of_people(user)) + len(found) + len(of_queues)
    return len(of_disk()) + len(hang) + len(wait) + of_users


def sees(user: Principal) -> bool:
    """Whether the user may see connection factories."""
    return isinstance(user, User) and user.has_perm("broker.view_connectionfactory")


def of_disk() -> list[Advice]:
    """The disk of this process's data, if little of it is free. No query."""
    found = disk.look()
    if found is None or not found.is_low:
        return []
    remedy = (
        "Free some space, or enlarge the disk: when it is full, nothing can be put, got"
        " or accepted. Shorter retention (BROKER_JOURNAL_RETENTION_DAYS,"
        " BROKER_MESSAGE_RETENTION_DAYS) makes the database smaller."
    )
    return [Advice(found.path, FILLS, str(found), remedy)]


def of_processes() -> list[Advice]:
    """Processes that hang or were stopped. One query."""
    return [
        Advice(
            str(one),
            SILENT,
            f"The process {one} has not answered for {one.silent_s:.0f} seconds: it"
            " hangs, or it was stopped. What it holds waits until its deadline.",
            "Continue it (SIGCONT), or kill it: what it holds is then backed out, and"
            " another process can go on.",
        )
        for one in silent_processes.silent()
    ]


def of_reports() -> list[Advice]:
    """Runs of reports that no process takes. At most five queries."""
    found = unattended.waiting()
    if found is None:
        return []
    remedy = f"{found.remedy} {found.command}"
    return [Advice("Reports", UNATTENDED, found.sentence, remedy)]


def of_secrets() -> list[Advice]:
    """Passwords of connection factories that cannot be decrypted. One query."""
    return [
        Advice(
            str(one),
            LOST,
            f"The password of the connection factory {one} cannot be decrypted:"
            " BACKOUT_SECRET_KEYS no longer has its key. No link can use it.",
            "Add that key again, at the end, and start the processes again; or enter"
            " the password anew.",
        )
        for one in secrets.lost()
    ]


def of_people(user: Principal) -> list[Advice]:
    """Required second-factor groups that do not exist; for users who manage groups."""
    if not isinstance(user, User) or not user.has_perm("auth.view_group"):
        return []
    return [
        Advice(
            name,
            NO_SUCH_GROUP,
            f"BACKOUT_SECOND_FACTOR_GROUPS names the group {name}, which does not"
            " exist: until it does, every user needs a second factor.",
            "Correct the name in the environment and start the processes again, or"
            " create the group under Settings and put its people into it.",
        )
        for name in second_factors.missing_groups()
    ]


def seen(held: GrantedAuthorities, every: Iterable[Advice]) -> list[Advice]:
    """Problems of all queues first, then by queue."""
    found = [one for one in every if held.on("inquire", one.queue)]
    return sorted(found, key=lambda one: one.code not in OF_ALL)


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
        yield SettingsLink("See its messages", there, leaves=False)
    if one.code == UNATTENDED and request.user.has_perm("dashboards.view_report"):
        yield SettingsLink("Reports", reverse("dashboards:reports"), leaves=False)
    if one.code == NO_SUCH_GROUP and may(request, "view", Group):
        yield SettingsLink("Groups", page(Group, "changelist"))
    if about is not None and may(request, "change", type(about)):
        yield SettingsLink("Settings", page(type(about), "change", about.pk))
    missing = {
        "no-dead-letter-queue": one.queue,
        "no-such-backout-queue": getattr(about, "backout_queue", ""),
    }.get(one.code)
    if missing and may(request, "add", Queue):
        query = urlencode({"name": missing})
        yield SettingsLink("Create it", f"{page(Queue, 'add')}?{query}")
    if one.code == "threshold-never-reached" and may(request, "change", AddressSetting):
        yield SettingsLink("Address settings", page(AddressSetting, "changelist"))


def may(request: HttpRequest, deed: str, model: type[Model]) -> bool:
    label, name = model._meta.app_label, model._meta.model_name
    return request.user.is_staff and request.user.has_perm(f"{label}.{deed}_{name}")


def page(model: type[Model], what: str, *key: int) -> str:
    about = model._meta
    return reverse(
        f"console_settings:{about.app_label}_{about.model_name}_{what}", args=key
    )
