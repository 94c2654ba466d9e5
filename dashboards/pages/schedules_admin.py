"""Schedules of reports under Settings: Celery beat's entries with a form for people.

Beat's own form asks for a task's name and its arguments as JSON. Entries that run
reports get a form here with report, parameters and time. Entries that the code creates
keep beat's form.
"""

from __future__ import annotations

import json
from typing import Any

from celery.exceptions import OperationalError
from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django_celery_beat.admin import PeriodicTaskAdmin
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from broker.models import Act
from broker.security import audit
from dashboards.pages import schedules
from dashboards.reports import discover

UNREACHABLE = gettext_noop(
    "Nothing was sent: the tasks' message broker cannot be reached. Start Redis, and"
    " try again."
)
EVERY = gettext_lazy("every nightly report")
EXAMPLE = gettext_noop("name=value, one a line; other parameters have their defaults.")


class ReportScheduleForm(forms.ModelForm):
    """A schedule: report, parameters, time."""

    report = forms.ChoiceField(
        label=gettext_lazy("Report"),
        required=False,
        help_text=gettext_lazy("The run replaces its rows."),
    )
    said = forms.CharField(
        label=gettext_lazy("Parameters"),
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    class Meta:
        model = PeriodicTask
        fields = ["name", "enabled", "crontab", "description"]
        help_texts = {
            "name": gettext_lazy("Its name in this list."),
            "enabled": gettext_lazy("If it is off, nothing runs until it is on again."),
            "crontab": gettext_lazy(schedules.WHEN),
            "description": gettext_lazy(
                "Why it runs at that time, for those who want to change it."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [
            (slug, gettext(one.title)) for slug, one in sorted(discover().items())
        ]
        report = self.fields["report"]
        assert isinstance(report, forms.ChoiceField)
        report.choices = [("", EVERY), *choices]
        self.fields["crontab"].required = True
        told = schedules.kwargs_of(self.instance)
        report.initial = told.get("slug", "")
        lines = (f"{k}={v}" for k, v in (told.get("parameters") or {}).items())
        self.fields["said"].initial = "\n".join(lines)
        self.fields["said"].help_text = f"{gettext(EXAMPLE)} {usual()}"

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        slug = said.get("report") or ""
        try:
            values = parameters(slug, said.get("said", ""))
        except ValueError as error:
            self.add_error("said", str(error))
            return said
        self.instance.task = schedules.TASK
        told = {"slug": slug, "parameters": values} if slug else {}
        self.instance.kwargs = json.dumps(told)
        self.instance.interval = None
        self.instance.solar = None
        self.instance.clocked = None
        return said


def usual() -> str:
    """The parameters of each report with their defaults."""
    said = (
        f"{gettext(one.title)}: "
        + ", ".join(f"{p.name}={p.default}" for p in one.parameters)
        for _, one in sorted(discover().items())
        if one.parameters
    )
    return "; ".join(said) + "."


def parameters(slug: str, text: str) -> dict[str, str]:
    """The parsed parameters of the report.

    Raises:
        ValueError: not valid; a sentence for people.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said: dict[str, str] = {}
    for line in lines:
        name, sign, value = line.partition("=")
        if not sign:
            missing = gettext("There is no = in “%(line)s”.") % {"line": line}
            raise ValueError(f"{missing} {gettext(EXAMPLE)}")
        said[name.strip()] = value.strip()
    schedules.check_arguments(slug, said)
    return said


class ScheduleAdmin(PeriodicTaskAdmin):  # type: ignore[misc]  # it has no types
    """Entries of Celery beat; those of reports have their own form."""

    list_display = ("name", "does", "when", "enabled", "last_run_at")
    list_filter = ("enabled",)
    list_select_related = ("crontab", "interval", "solar", "clocked")
    actions = ("run_tasks", "enable_tasks", "disable_tasks")
    search_fields = ("name", "description")
    date_hierarchy = None

    @admin.display(description=gettext_lazy("Runs"))
    def when(self, one: PeriodicTask) -> str:
        return schedules.words(one)

    @admin.display(description=gettext_lazy("Does"))
    def does(self, one: PeriodicTask) -> str:
        """The entry's description, or what its task says of itself."""
        if one.description:
            return str(one.description)
        self.celery_app.loader.import_default_modules()
        said = getattr(self.celery_app.tasks.get(one.task), "__doc__", None) or one.task
        return " ".join(str(said).split("\n\n")[0].split())

    @admin.action(description=gettext_lazy("Run now"))
    def run_tasks(self, request: HttpRequest, queryset: QuerySet[PeriodicTask]) -> None:
        """Send the tasks, each with an audit record."""
        try:
            with transaction.atomic():
                for one in queryset:
                    audit.record(Act.RUN_TASK, one)
                super().run_tasks(request, queryset)
        except OperationalError:
            self.message_user(request, gettext(UNREACHABLE), messages.ERROR)

    @admin.action(description=gettext_lazy("Switch on"))
    def enable_tasks(self, request: HttpRequest, queryset: Any) -> None:
        switch(queryset, is_on=True)

    @admin.action(description=gettext_lazy("Switch off"))
    def disable_tasks(self, request: HttpRequest, queryset: Any) -> None:
        switch(queryset, is_on=False)

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> Any:
        """Bulk actions, for users who may change every entry. Django gives the place of
        its page from 6.1 on."""
        if not request.user.is_superuser:
            return {}
        where = {"action_location": action_location} if action_location else {}
        return super().get_actions(request, **where)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Entries created by the code cannot be changed: housekeeping needs them."""
        may = super().has_change_permission(request, obj)
        return may and (is_of_reports(obj) or bool(request.user.is_superuser))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may = super().has_delete_permission(request, obj)
        return may and (is_of_reports(obj) or bool(request.user.is_superuser))

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        own = {"form": ReportScheduleForm} if is_of_reports(obj) else {}
        return super().get_form(request, obj, **kwargs | own)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if is_of_reports(obj):
            fields = ["name", "enabled", "report", "said", "crontab", "description"]
            return [(None, {"fields": fields})]
        return super().get_fieldsets(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if is_of_reports(obj):
            return ()
        return super().get_readonly_fields(request, obj)


def is_of_reports(one: PeriodicTask | None) -> bool:
    """Whether an entry runs reports. A new one does; the code creates the others."""
    return one is None or one.task == schedules.TASK


def switch(entries: QuerySet[PeriodicTask], *, is_on: bool) -> None:
    """Switch entries on or off, each with an audit record."""
    for one in entries.exclude(enabled=is_on):
        before = audit.state_of(one)
        one.enabled = is_on
        one.save()  # Celery beat then reads its schedules again
        changed = audit.changes(before, audit.state_of(one))
        audit.record(Act.CHANGE, one, detail={"changed": changed})


class TimeAdmin(admin.ModelAdmin):
    """A time at which entries run. It is made in the form of an entry, and is not on
    the first page."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False


admin.site.unregister(PeriodicTask)
admin.site.register(PeriodicTask, ScheduleAdmin)
for time in (ClockedSchedule, CrontabSchedule, IntervalSchedule, SolarSchedule):
    admin.site.unregister(time)
    admin.site.register(time, TimeAdmin)
