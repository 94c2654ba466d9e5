"""Wrong passwords under Settings, as django-axes counts them."""

from __future__ import annotations

from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy, ngettext


class AttemptAdmin(admin.ModelAdmin):
    """Wrong passwords of one name from one address. A row can only be deleted."""

    list_display = ["username", "ip_address", "failures", "attempt_time", "status"]
    list_filter = ()
    date_hierarchy = None
    actions = ()
    ordering = ["-attempt_time"]
    fieldsets = (
        (None, {"fields": ("username", "ip_address", "failures", "attempt_time")}),
        (gettext_lazy("Client"), {"fields": ("user_agent",)}),
    )
    readonly_fields = ("failures",)
    search_help_text = gettext_lazy("A name or an address.")

    def has_add_permission(self, *_: Any) -> bool:
        return False

    def has_change_permission(self, *_: Any) -> bool:
        return False

    @admin.display(
        description=gettext_lazy("wrong passwords"), ordering="failures_since_start"
    )
    def failures(self, one: AccessAttempt) -> int:
        return int(one.failures_since_start)

    @admin.display(description=gettext_lazy("state"))
    def status(self, one: AccessAttempt) -> str:
        if one.attempt_time < get_cool_off_threshold():
            return gettext("over")
        left = settings.AXES_FAILURE_LIMIT - one.failures_since_start
        if left <= 0:
            return gettext("kept out")
        return ngettext("%(n)s try left", "%(n)s tries left", left) % {"n": left}


class UnlistedAdmin(admin.ModelAdmin):
    """Pages that the first page does not name: the audit has what is in them."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    def has_add_permission(self, *_: Any) -> bool:
        return False

    def has_change_permission(self, *_: Any) -> bool:
        return False
