"""System checks: what a project lacks for the console, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.checks import Warning as Advice
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_noop

from broker.formats.sentences import say
from console.integration import middleware
from console.runtime import prefix
from dashboards.spark import cpu_share, own_conf
from dashboards.spark.errors import ConfUnreadable

CONSOLE = "console"  # the tag of checks that load no URLs
APPLICATIONS = (
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
)
FRAME = "console.home.frame.frame"
MIDDLEWARE = f"{middleware.__name__}.{middleware.ConsoleMiddleware.__name__}"
AFTER = "django.contrib.messages.middleware.MessageMiddleware"
DJANGO_TEMPLATES = "django.template.backends.django.DjangoTemplates"


def require_applications(installed: list[str]) -> None:
    """Refuse a project in which the console's modules cannot be loaded.

    Raises:
        ImproperlyConfigured: the broker or the dashboards are not installed.
    """
    names = [one.split(".")[0] for one in installed]
    missing = [one for one in ("dashboards", "broker") if one not in names]
    if missing:
        raise ImproperlyConfigured(
            f"The console needs {' and '.join(missing)}: write INSTALLED_APPS +="
            ' ["django.contrib.postgres", "console", "dashboards", "broker"].'
        )


@register(CONSOLE)
def applications_are_installed(**_: Any) -> Iterator[CheckMessage]:
    """What the console uses, and the order in which commands are found."""
    for one in APPLICATIONS:
        if not apps.is_installed(one):
            sentence = f"The console needs {one}."
            hint = "Add it to INSTALLED_APPS."
            yield Error(sentence, hint=hint, id="console.E002")
    names = [one.name for one in apps.get_app_configs()]
    if names.index("broker") < names.index("console"):
        yield Error(
            "The broker is before the console in INSTALLED_APPS: manage.py backout has"
            " the broker's few commands only.",
            hint='Write "console", "dashboards", "broker", in this order.',
            id="console.E003",
        )


@register(CONSOLE)
def middleware_is_installed(**_: Any) -> Iterator[CheckMessage]:
    """``MIDDLEWARE`` needs the console's entry, after the entries that it builds on."""
    placed = list(settings.MIDDLEWARE)
    if MIDDLEWARE not in placed:
        yield Error(
            f"MIDDLEWARE lacks {MIDDLEWARE}: without it, pages ask for no sign-in.",
            hint="Add it to the end.",
            id="console.E004",
        )
    elif AFTER not in placed[: placed.index(MIDDLEWARE)]:
        yield Error(
            f"{MIDDLEWARE} needs sessions, users and messages.",
            hint=f"Put it after {AFTER}.",
            id="console.E005",
        )


@register(CONSOLE)
def templates_know_the_frame(**_: Any) -> Iterator[CheckMessage]:
    """The context processor of the console's pages."""
    engines: list[dict[str, Any]] = settings.TEMPLATES
    for one in engines:
        processors = one.get("OPTIONS", {}).get("context_processors", ())
        if one["BACKEND"] == DJANGO_TEMPLATES and FRAME not in processors:
            yield Error(
                f"TEMPLATES lacks the context processor {FRAME}.",
                hint="Add it to OPTIONS, context_processors.",
                id="console.E006",
            )


@register(Tags.urls)
def urls_are_included(**_: Any) -> Iterator[CheckMessage]:
    """Whether the project shows the console at all."""
    if prefix.root() == "\0":
        yield Error(
            f"{settings.ROOT_URLCONF} does not include the console.",
            hint='Add path("ops/", include("console.urls")); the prefix is yours.',
            id="console.E007",
        )


@register(CONSOLE)
def tasks_can_run(**_: Any) -> Iterator[CheckMessage]:
    """What an application of Celery needs."""
    if not settings.BACKOUT_CELERY_APP:
        return
    if not settings.REDIS_URL and not hasattr(settings, "CELERY_BROKER_URL"):
        yield Error(
            "BACKOUT_CELERY_APP is set, but no server for Celery.",
            hint="Set REDIS_URL in BACKOUT, or CELERY_BROKER_URL.",
            id="console.E008",
        )
    if not apps.is_installed("django_celery_beat"):
        yield Error(
            "BACKOUT_CELERY_APP is set, but the tables of its schedule are missing.",
            hint="Install backout[celery], add django_celery_beat to INSTALLED_APPS,"
            " and migrate.",
            id="console.E009",
        )


@register(CONSOLE)
def spark_can_be_set_up(**_: Any) -> Iterator[CheckMessage]:
    """What an installation sets of Spark."""
    try:
        own_conf.read(settings.BACKOUT_REPORTS_SPARK_CONF)
    except ConfUnreadable as error:
        yield Error(str(error), id="console.E013")


@register(CONSOLE)
def priority_of_reports_is_possible(**_: Any) -> Iterator[CheckMessage]:
    """A worker without a nice value would not give way."""
    if not 1 <= settings.BACKOUT_REPORTS_NICE <= cpu_share.LOWEST:
        yield Error(
            f"BACKOUT_REPORTS_NICE is {settings.BACKOUT_REPORTS_NICE}, but must be from"
            f" 1 to {cpu_share.LOWEST}.",
            hint="19: reports get only what nobody else wants. 10: about a tenth of a"
            " processor beside one busy process.",
            id="console.E014",
        )


@register(CONSOLE)
def times_have_zones(**_: Any) -> Iterator[CheckMessage]:
    """Refuse a project whose times have no zone: each reader of a page has one."""
    if not settings.USE_TZ:
        yield Error(
            "USE_TZ is False: the console shows each user times of their zone.",
            hint="Set USE_TZ = True; or leave the console out of this project, and run"
            " it from a project of its own, with the same database.",
            id="console.E015",
        )


@register(CONSOLE)
def factors_are_installed(**_: Any) -> Iterator[CheckMessage]:
    """Refuse to require second factors that nobody can have."""
    wanted = settings.BACKOUT_SECOND_FACTOR_GROUPS
    if wanted and not apps.is_installed("allauth.mfa"):
        yield Error(
            "BACKOUT_SECOND_FACTOR_GROUPS is set, but second factors are missing.",
            hint="Add allauth.account and allauth.mfa to INSTALLED_APPS, or leave"
            " second factors to the sign-in of your project.",
            id="console.E010",
        )


@register(CONSOLE)
def traces_have_a_page(**_: Any) -> Iterator[CheckMessage]:
    """Refuse a link that leads nowhere."""
    url = settings.BACKOUT_TRACE_URL
    if url and not (url.startswith(("http://", "https://")) and "{trace_id}" in url):
        yield Error(
            f"BACKOUT_TRACE_URL is {url}: it needs http(s):// and {{trace_id}}.",
            hint="Write https://traces.example.org/trace/{trace_id}, for example.",
            id="console.E012",
        )


@register(CONSOLE)
def pages_are_live(**_: Any) -> Iterator[CheckMessage]:
    """Say why numbers would not change by themselves every second."""
    if not settings.CHANNEL_LAYERS:
        yield Info(
            "Without Redis, pages ask for new numbers every few seconds.",
            hint="Set REDIS_URL in BACKOUT to have them every second.",
            id="console.I001",
        )
    elif (source := asgi_source()) and "console" not in source.read_text():
        yield Advice(
            say(
                gettext_noop(
                    "%(source)s does not route web sockets to the console, so"
                    " that pages ask for new numbers every few seconds."
                ),
                source=source,
            ),
            hint=gettext_noop(
                "Write application = with_sockets(application), which"
                " console.integration.sockets has."
            ),
            id="console.W002",
        )


def asgi_source() -> Path | None:
    """The module that servers load; it is read, as loading it loads all pages."""
    named = getattr(settings, "ASGI_APPLICATION", None)
    beside = f"{settings.ROOT_URLCONF.rpartition('.')[0] or 'config'}.asgi"
    try:
        found = find_spec(named.rpartition(".")[0] if named else beside)
    except ModuleNotFoundError:
        return None
    return Path(found.origin) if found and found.origin else None
