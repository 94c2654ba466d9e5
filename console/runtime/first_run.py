"""First-run setup: tables, static files, default queues, the first administrator."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from broker.bridges import secrets as bridge_secrets
from broker.errors.bridges import SecretsLost
from broker.models import Act, Address, AddressSetting, Queue
from broker.security import audit
from broker.security.users import NAME, USERS
from console.runtime.supervisor import Say

DLQ, EXPIRY_QUEUE = "DLQ", "ExpiryQueue"


def tell_lost_passwords(say: Say) -> None:
    """Report connection factories whose password cannot be decrypted. Only their links
    do not run.
    """
    try:
        bridge_secrets.check_all()
    except (SecretsLost, ImproperlyConfigured) as error:
        say(str(error))


def migrate(say: Say) -> None:
    executor = MigrationExecutor(connection)
    due = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if due:
        say(f"Bringing the database up to date: {len(due)} migrations.")
        call_command("migrate", interactive=False, verbosity=0)


def collect_static(say: Say) -> None:
    """Collect and compress static files, if any has changed."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    now = static_fingerprint()
    if stamp.exists() and stamp.read_text() == now:
        return
    say("Collecting the static files.")
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(now)


def static_fingerprint() -> str:
    seen = hashlib.sha256(django.__version__.encode())
    for finder in get_finders():
        for name, storage in finder.list(None):
            found = os.stat(storage.path(name))
            seen.update(f"{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return seen.hexdigest()


def make_places() -> None:
    """Create the default dead letter and expiry queues of a new broker.

    Only if it has no queue but that of ``system_queues``: queues that an administrator
    removes are not created again.

    Source:
        The addresses DLQ and ExpiryQueue of the configuration that ActiveMQ Artemis
        generates.
    """
    own = Address.objects.exclude(name=settings.BROKER_DEAD_LETTER_QUEUE)
    if own.exists() or AddressSetting.objects.exists():
        return
    for name in (DLQ, EXPIRY_QUEUE):
        Queue.objects.create(name=name, address=Address.objects.create(name=name))
    AddressSetting.objects.create(
        match="#", dead_letter_address=DLQ, expiry_address=EXPIRY_QUEUE
    )


def first_administrator() -> str | None:
    """Create ``admin`` if there is no administrator; return the password."""
    if USERS.filter(is_superuser=True).exists():
        return None
    return make_administrator("admin")


@transaction.atomic
def make_administrator(name: str) -> str:
    """Create an administrator, or set a new password; return the password."""
    password = secrets.token_urlsafe(12)
    named: dict[str, Any] = {NAME: name}
    user, _ = USERS.get_or_create(**named)
    before = audit.state_of(user)
    user.is_active = user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    changed = audit.changes(before, audit.state_of(user))
    audit.record(Act.CHANGE, user, detail={"changed": changed})
    return password
