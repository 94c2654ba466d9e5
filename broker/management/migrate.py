"""Receivers of Django's ``pre_migrate`` and ``post_migrate`` signals.

Before a migration: refuse a database that an early development version migrated in
part. After it, and after a flush: create the first rows, queue and partitions and, with
django-celery-beat, the schedule of the housekeeping.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.apps import apps as applications
from django.apps.registry import Apps
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connections, router
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from broker.config import system_queues
from broker.management import first_rows
from broker.sql import partitions

LAST_EARLIER = {  # the last migration of each application before 0001_initial
    "broker": "0016_bridges_have_links",
    "console": "0003_codes_are_tried",
    "dashboards": "0004_the_archive_is_kept_by_day",
}
# Table that the earlier 0001_initial did not create.
LAST_TABLE = {"broker": "broker_link"}
HALF_WAY = (
    "An early development version of Backout migrated this database in part: {label}"
    " has {found}, but not {last}. Run `manage.py migrate` of that version to its end,"
    " then migrate with this version. Or begin with an empty database."
)
EVERY_S = {  # intervals in seconds, by task of broker.tasks
    "send_due": 10,
    "tend_partitions": 60,
    "empty_discard_bin": 60,
    "verify_audit": 3600,
}
# Names of periodic tasks of earlier development versions; ``send_due`` sends these
# tasks now.
FORMER = (
    "broker: release due",
    "broker: back out overdue",
    "broker: expire",
    "broker: fold journal",
    "broker: step operations",
    "broker: look at patches",
    "broker: vacuum hot tables",
    "broker: apply dead letter rules",
    "broker: delete what made itself",
    "broker: forget answers",
    "dashboards: publish depths",
)


def refuse_half_way(*, app_config: AppConfig, using: str, **_: Any) -> None:
    """Refuse a database that is between the earlier migrations and this one; for
    ``pre_migrate``.

    Raises:
        CommandError: the sentence says what was found, and what to do.
    """
    label = app_config.label
    last = LAST_EARLIER.get(label)
    connection = connections[using]
    recorder = MigrationRecorder(connection)
    if last is None or not recorder.has_table():
        return
    found = sorted(name for app, name in recorder.applied_migrations() if app == label)
    if last in found:
        return
    here = {name for app, name in MigrationLoader(None).disk_migrations if app == label}
    table = LAST_TABLE.get(label)
    is_made = not table or table in connection.introspection.table_names()
    if not found or (here.issuperset(found) and is_made):
        return
    raise CommandError(HALF_WAY.format(label=label, found=found[-1], last=last))


def prepare(*, using: str, apps: Apps = applications, **_: Any) -> None:
    """Make what a migrated database has beside its tables; for ``post_migrate`` of the
    broker, which is also sent after a flush, then without ``apps``.

    Raises:
        CommandError: the tables are missing, as the migrations are left out.
    """
    if not has_model(apps, "broker", "Message", using=using):
        return
    first_rows.complete(using)
    if using == DEFAULT_DB_ALIAS:
        partitions.make_ahead()
        system_queues.make_missing(apps)
    first_rows.set_apart(using)
    if has_model(apps, "django_celery_beat", "PeriodicTask", using=using):
        periodic = apps.get_model("django_celery_beat", "PeriodicTask").objects
        periodic.using(using).filter(name__in=FORMER).delete()
    for name, seconds in EVERY_S.items():
        schedule(
            f"broker: {name.replace('_', ' ')}",
            f"broker.tasks.{name}",
            apps=apps,
            using=using,
            every_s=seconds,
        )


def schedule(
    name: str, task: str, *, apps: Apps, using: str, every_s: int = 0, **crontab: str
) -> None:
    """Have Celery's beat call a task, unless it is scheduled by this name already.

    Args:
        name: of the entry, as administrators see it.
        task: its Celery name.
        every_s: seconds from one call to the next; or else
        crontab: fields of django-celery-beat's ``CrontabSchedule``.
    """
    if not has_model(apps, "django_celery_beat", "PeriodicTask", using=using):
        return
    periodic = apps.get_model("django_celery_beat", "PeriodicTask").objects.using(using)
    if periodic.filter(name=name).exists():
        return
    if every_s:
        intervals = apps.get_model("django_celery_beat", "IntervalSchedule")
        period, number = ("seconds", every_s)
        if every_s % 3600 == 0:
            period, number = ("hours", every_s // 3600)
        when, _ = intervals.objects.using(using).get_or_create(
            every=number, period=period
        )
        # A late run of a task is useless after the next run.
        periodic.create(
            name=name, task=task, interval=when, expire_seconds=max(every_s, 2)
        )
    else:
        crontabs = apps.get_model("django_celery_beat", "CrontabSchedule")
        when, _ = crontabs.objects.using(using).get_or_create(**crontab)
        periodic.create(name=name, task=task, crontab=when)


def has_model(apps: Apps, label: str, name: str, *, using: str) -> bool:
    """Whether a database is migrated as far as this table, and is to have it."""
    try:
        model = apps.get_model(label, name)
    except LookupError:
        return False
    return router.allow_migrate_model(using, model)
