"""Schedules of reports, entries of Celery beat, as objects that can be declared."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from broker.declarations import Attribute, ObjectKind
from broker.declarations.object_kind import Key, Values
from broker.errors.settings import WrongSettings
from broker.models.recurring import check_zone
from dashboards.pages import schedules

PARTS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
OWN = (
    Attribute("report", str, "", help="Its slug; by default every nightly report."),
    Attribute("parameters", dict, {}, help="Others have the report's defaults."),
    Attribute("crontab", str, "", help=schedules.WHEN),
    Attribute("time_zone", str, "UTC", help="Of the crontab line, as Europe/Berlin."),
)


class ScheduleKind(ObjectKind):
    name, plural = "report_schedule", "report_schedules"
    model, rank = PeriodicTask, 30
    read_only: ClassVar = {"last_run_at": datetime | None}

    def __init__(self) -> None:
        super().__init__("enabled", "description")
        self.attributes = {**{one.name: one for one in OWN}, **self.attributes}

    def rows(self) -> QuerySet[Any]:
        every = super().rows().filter(task=schedules.TASK, crontab__isnull=False)
        return every.select_related("crontab")

    def named(self, key: Key) -> QuerySet[Any]:
        """Entries that the code creates for other tasks have no schedule of reports."""
        found = super().named(key).filter(task=schedules.TASK)
        return found.select_related("crontab")

    def new(self, key: Key, where: str) -> Any:
        return PeriodicTask(name=key[0], task=schedules.TASK)

    def values_of(self, row: Any) -> dict[str, Any]:
        given, when = schedules.kwargs_of(row), row.crontab
        parts = [str(getattr(when, one)).replace(" ", "") for one in PARTS if when]
        return {
            "report": str(given.get("slug") or ""),
            "parameters": given.get("parameters") or {},
            "crontab": " ".join(parts),
            "time_zone": str(when.timezone) if when else "UTC",
            "enabled": row.enabled,
            "description": row.description,
        }

    def fill(self, row: Any, values: Values) -> None:
        """A new time is stored with the row; a line without five parts is no time.

        Raises:
            WrongSettings: there is no such time zone.
        """
        now = {**self.values_of(row), **values}
        given = {"slug": now["report"], "parameters": now["parameters"]}
        row.kwargs = json.dumps({name: one for name, one in given.items() if one})
        row.enabled, row.description = now["enabled"], now["description"]
        if values.keys() & {"crontab", "time_zone"}:
            row.crontab = self.time_of(row, now["crontab"].split(), now["time_zone"])
            row.interval = row.solar = row.clocked = None

    def time_of(self, row: Any, parts: list[str], zone: str) -> Any:
        if len(parts) != len(PARTS):
            return None
        try:
            check_zone(zone)
        except ValidationError as error:
            where = f"{self.noun} {row.name}, time_zone"
            raise WrongSettings(where, error.messages[0]) from None
        return CrontabSchedule(**dict(zip(PARTS, parts, strict=True)), timezone=zone)

    def check(self, row: Any, where: str) -> None:
        super().check(row, where)
        others = PeriodicTask.objects.exclude(task=schedules.TASK)
        if others.filter(name=row.name).exists():
            why = "It is the name of another scheduled task. Choose another name."
            raise WrongSettings(where, why)
        said = self.values_of(row)
        try:
            schedules.check_arguments(said["report"], said["parameters"])
        except ValueError as error:
            raise WrongSettings(where, str(error)) from None
        if row.crontab is None:
            raise WrongSettings(
                f"{where}, crontab", f"Give its five parts. {schedules.WHEN}"
            )
        try:
            row.crontab.clean_fields()
        except ValidationError as error:
            raise WrongSettings(f"{where}, crontab", error.messages[0]) from None

    def save(self, row: Any, key: Key, values: Values) -> None:
        """Several schedules may have one time."""
        when = row.crontab
        if when.pk is None:
            names = (*PARTS, "timezone")
            place = {name: getattr(when, name) for name in names}
            row.crontab = CrontabSchedule.objects.filter(**place).first() or when
            row.crontab.save()
            row.crontab_id = row.crontab.pk
        super().save(row, key, values)


SCHEDULE = ScheduleKind()
