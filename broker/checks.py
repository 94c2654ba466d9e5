"""System checks: requirements on the database server, and warnings on settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError, connections, models, transaction
from django.utils.module_loading import import_string

from broker.config.lint import advice
from broker.config.test_databases import is_of_tests
from broker.errors import PoolerHasLocks, UnsafeServer
from broker.formats.wildcards import configured
from broker.queueing import processes
from broker.settlement.hardening import UNLIMITED

# The tag of the checks of settings. Commands run only the checks with this tag:
# Django's own checks load all pages and the REST interface, which takes longer than the
# rest of the start.
BROKER = "broker"
NEEDED = ("fsync", "full_page_writes")
OF_USERS = {"is_active", "is_staff", "is_superuser"}
OLDEST = 150000  # PostgreSQL 15.0


@register(Tags.database)
def server_keeps_what_it_confirms(
    *, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Refuse a server that is too old, or that loses commits at a power failure, unless
    they are those of tests."""
    found: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        if connection.vendor != "postgresql":
            continue
        connection.ensure_connection()
        version = connection.connection.info.server_version
        if version < OLDEST:
            sentence = f"PostgreSQL 15 or later is needed; this is {version // 10000}."
            found.append(Error(sentence, id="broker.E002"))
        if is_of_tests(connection):
            continue
        found += [
            Error(str(UnsafeServer(name)), id="broker.E001")
            for name in NEEDED
            if setting(connection, name) == "off"
        ]
    return found


@register(Tags.database)
def settings_are_meant(
    *, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Warn of settings that may lose or block messages."""
    if "default" not in (databases or []) or database_is_postgresql():
        return []
    try:
        with transaction.atomic():
            found = advice()
    except ProgrammingError:  # the tables are not created yet
        return []
    return [
        checks.Warning(one.sentence, hint=one.remedy, id=f"broker.{one.code}")
        for one in found
    ]


@register(BROKER)
def database_is_postgresql(**_: Any) -> list[CheckMessage]:
    """Refuse another database than PostgreSQL; does not connect."""
    vendor = connections["default"].vendor
    if vendor == "postgresql":
        return []
    sentence = f"The broker needs PostgreSQL; the default database is {vendor}."
    hint = "Set DATABASES['default']['ENGINE'] to django.db.backends.postgresql."
    return [Error(sentence, hint=hint, id="broker.E006")]


@register(BROKER)
def limits_are_meant(**_: Any) -> list[CheckMessage]:
    """Refuse a limit of redelivery records below -1."""
    limit = settings.BROKER_MAX_REDELIVERY_RECORDS
    if limit >= UNLIMITED:
        return []
    sentence = f"BROKER_MAX_REDELIVERY_RECORDS is {limit}; no such limit is possible."
    hint = "Give a number of records from 0, or -1 for no limit."
    return [Error(sentence, hint=hint, id="broker.E003")]


@register(BROKER)
def group_commit_is_meant(**_: Any) -> list[CheckMessage]:
    """Refuse a wait for other sessions that is no time, or long beside the lease."""
    wait_ms = settings.BROKER_SETTLE_WITHIN_MS
    longest_ms = min(100, int(100 * settings.BROKER_TRANSACTION_TIMEOUT_S))
    if type(wait_ms) is int and 0 <= wait_ms <= longest_ms:
        return []
    sentence = f"BROKER_SETTLE_WITHIN_MS is {wait_ms!r}; no such wait is possible."
    hint = (
        f"Give whole milliseconds, 0 to {longest_ms}: at most 100, and at most a tenth"
        " of BROKER_TRANSACTION_TIMEOUT_S."
    )
    return [Error(sentence, hint=hint, id="broker.E009")]


@register(BROKER)
def wildcards_are_meant(**_: Any) -> list[CheckMessage]:
    """Refuse wildcard characters that cannot form patterns of address settings."""
    try:
        configured()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="broker.E004")]
    return []


@register(BROKER)
def users_have_what_is_read(**_: Any) -> list[CheckMessage]:
    """Refuse a user model that lacks what statements of the broker read."""
    model = get_user_model()
    lacking = sorted(OF_USERS - {one.name for one in model._meta.local_fields})
    if not hasattr(model, "groups"):
        lacking.append("groups")
    if not isinstance(model._meta.pk, models.IntegerField):
        lacking.append("a primary key that is an integer")
    if not lacking:
        return []
    sentence = f"The user model {model._meta.label} lacks {', '.join(lacking)}."
    hint = (
        "Let it inherit AbstractBaseUser and PermissionsMixin, both abstract, and give"
        " it the fields is_active and is_staff."
    )
    return [Error(sentence, hint=hint, id="broker.E008")]


@register(BROKER)
def handler_middleware_is_there(**_: Any) -> list[CheckMessage]:
    """Refuse middleware of handlers that cannot be imported."""
    found: list[CheckMessage] = []
    for path in settings.BROKER_HANDLER_MIDDLEWARE:
        try:
            import_string(path)
        except ImportError as error:
            sentence = f"BROKER_HANDLER_MIDDLEWARE names {path}: {error}"
            found.append(Error(sentence, id="broker.E007"))
    return found


def refuse_unsafe_server() -> None:
    """Refuse to start a process on a server that can lose commits.

    Raises:
        UnsafeServer: a required parameter of the server is off.
        PoolerHasLocks: a pooler is in between, and no way leads past it.
    """
    if not settings.BROKER_DIRECT_DATABASE_URL:
        connection = connections["default"]
        connection.ensure_connection()
        if processes.is_pooled(connection.connection):
            raise PoolerHasLocks
    for name in NEEDED:
        if setting(connections["default"], name) == "off":
            raise UnsafeServer(name)


def setting(connection: Any, name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return str(cursor.fetchone()[0])
