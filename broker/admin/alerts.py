"""Rules of alerts and their targets. The alerts themselves are in the console."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from broker.alerts import acts
from broker.alerts.editing import faults_of_rule, faults_of_target
from broker.bridges import secrets
from broker.errors.alerts import AlertError
from broker.formats.quantities import (
    read_count,
    read_duration,
    write_count,
    write_stored,
)
from broker.models import AlertRule, AlertTarget

WHO = gettext_lazy(
    "A target is told in messages of the queue backout.alerts. What cannot be delivered"
    " is tried again for two hours, and then lies on backout.alerts.dead."
)
THRESHOLD = gettext_lazy(
    "A number of messages such as 5,000; a time such as 10 min for the age of the"
    " oldest message; percent for the disk. Without a meaning for other conditions."
)
AGE = AlertRule.Condition.AGE


class DurationField(forms.CharField):
    """A number of seconds, typed with units."""

    def prepare_value(self, value: Any) -> Any:
        return write_stored(value, "_s") if isinstance(value, int) else value

    def clean(self, value: Any) -> int:
        try:
            return read_duration(super().clean(value) or "0")
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class RuleForm(forms.ModelForm):
    threshold = forms.CharField(required=False, help_text=THRESHOLD)
    within_s = DurationField(
        label=gettext_lazy("Within"),
        help_text=gettext_lazy(
            "The period of the conditions on dead-letter groups, such as 1 h."
        ),
    )
    for_s = DurationField(
        label=gettext_lazy("For"),
        required=False,
        help_text=gettext_lazy(
            "How long it must hold before the alert fires, such as 5 min. 0: at once."
        ),
    )
    repeat_s = DurationField(
        label=gettext_lazy("Repeat every"),
        required=False,
        help_text=gettext_lazy(
            "While it fires and nobody acknowledges it, such as 4 h. 0: never."
        ),
    )
    escalate_after_s = DurationField(
        label=gettext_lazy("Escalate after"), help_text=gettext_lazy("Such as 15 min.")
    )

    class Meta:
        model = AlertRule
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them
        widgets = {
            "targets": forms.CheckboxSelectMultiple,
            "escalate_to": forms.CheckboxSelectMultiple,
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rule = self.instance
        if rule.pk:
            self.initial["threshold"] = (
                write_stored(rule.threshold, "_s")
                if rule.condition == AGE
                else write_count(rule.threshold)
            )

    def clean_threshold(self) -> int:
        text = self.cleaned_data["threshold"] or "0"
        read = read_duration if self.data.get("condition") == AGE else read_count
        try:
            return read(text)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if not self.errors:
            for field, why in faults_of_rule(self.instance):
                self.add_error(field, why)


@admin.register(AlertRule)
class AlertRuleAdmin(admin.ModelAdmin):
    form = RuleForm
    list_display = ["name", "condition", "queues", "severity", "enabled"]
    list_filter = ["condition", "severity", "enabled"]
    search_fields = ["name", "queues"]
    fieldsets = [
        (None, {"fields": ["name", "enabled", "severity"]}),
        (
            gettext_lazy("When"),
            {"fields": ["condition", "queues", "threshold", "within_s", "for_s"]},
        ),
        (
            gettext_lazy("Who is told"),
            {
                "description": WHO,
                "fields": ["targets", "escalate_after_s", "escalate_to", "repeat_s"],
            },
        ),
    ]


class TargetForm(forms.ModelForm):
    new_secret = forms.CharField(
        label=gettext_lazy("Secret"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy(
            "Webhook: the key of its signatures, whsec_ and base64. Slack: the"
            " URL of the incoming webhook. PagerDuty: the integration key. It is kept"
            " encrypted and never shown. Empty: it stays as it is."
        ),
    )

    class Meta:
        model = AlertTarget
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        secret = self.cleaned_data["new_secret"]
        for field, why in faults_of_target(self.instance, secret):
            self.add_error("new_secret" if field == "secret" else field, why)
        if secret and not self.errors:
            self.instance.secret = secrets.encrypt(secret)


@admin.register(AlertTarget)
class AlertTargetAdmin(admin.ModelAdmin):
    form = TargetForm
    list_display = ["name", "kind", "address", "enabled", "told_at", "error"]
    list_filter = ["kind", "enabled"]
    search_fields = ["name", "address"]
    actions = ["try_out"]
    fieldsets = [
        (None, {"fields": ["name", "kind", "enabled", "address", "new_secret"]}),
        (
            gettext_lazy("Quiet hours"),
            {"fields": ["quiet_from", "quiet_until", "zone", "critical_passes"]},
        ),
    ]

    @admin.action(
        description=gettext_lazy("Send a test notification"), permissions=["change"]
    )
    def try_out(self, request: HttpRequest, queryset: QuerySet[AlertTarget]) -> None:
        for target in queryset:
            try:
                answer = acts.try_out(target, by=request.user)
                messages.success(request, f"{target}: {answer}")
            except AlertError as error:
                messages.error(request, f"{target}: {error}")
