"""The admin site for Settings: every change, in any application, is audited.

All changes of one request are one transaction, with their audit records.
"""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator

from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing

BEFORE = "_before_settings"  # attribute of a request: states by model and key


class AuditedAdmin(ModelAdmin):
    """Records what its pages create, change and delete, with before and after.

    Both states are read from the database, before and after saving, including related
    rows.
    """

    def save_model(
        self, request: HttpRequest, obj: Model, form: Any, change: Any
    ) -> None:
        if change:
            states = getattr(request, BEFORE, {})
            states[type(obj), obj.pk] = audit.state_of(obj)
            setattr(request, BEFORE, states)
        super().save_model(request, obj, form, change)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        note(Act.CREATE, obj, {}, audit.state_of(obj))

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Record a change. A new password saves no form, and has its own record."""
        before = getattr(request, BEFORE, {}).pop((type(obj), obj.pk), None)
        if before is not None:
            note(Act.CHANGE, obj, before, audit.state_of(obj))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Do nothing: ``delete_model`` and ``delete_queryset`` record deletions."""

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        note(Act.DELETE, obj, audit.state_of(obj), {})
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        for one in queryset:
            note(Act.DELETE, one, audit.state_of(one), {})
        super().delete_queryset(request, queryset)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """The object's audit records, with the permission of the audit."""
        kind = str(self.opts.verbose_name)
        return redirect(
            reverse("console:audit", query={"object": f"{kind}:{object_id}"})
        )


def note(act: Act, one: Model, before: dict[str, Any], after: dict[str, Any]) -> None:
    audit.record(act, Thing.of(one), detail={"changed": audit.changes(before, after)})


class SettingsSite(AdminSite):
    """The site on which every page is audited."""

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the console's sign-in page, which checks the second factor."""
        if self.has_permission(request):
            return redirect("admin:index")
        wanted = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
        return redirect_to_login(wanted)

    def register(
        self,
        model_or_iterable: Any,
        admin_class: type[ModelAdmin] | None = None,
        **options: Any,
    ) -> None:
        own = admin_class or ModelAdmin
        if own.__module__.startswith("allauth."):
            # no page for unused e-mail addresses, and for second factors with their
            # secrets
            return
        where = {"__module__": own.__module__}
        audited = type(own.__name__, (AuditedAdmin, own), where)
        super().register(model_or_iterable, audited, **options)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002
        return super().admin_view(transaction.atomic(view), cacheable)
