"""The console's own admin site, Settings: every change of it is audited.

Its pages are below the console's prefix, beside an admin that the project may have. The
models of the broker are changed here only. All changes of one request are one
transaction, with their audit records.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib import admin
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.utils import unquote
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template import engines
from django.template.backends.django import DjangoTemplates, Template
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing
from console.accounts import sign_in
from console.configuration import history
from console.configuration.index import NAMES, sections
from console.configuration.policies import PAGES
from console.edges.permissions import AUDIT

BEFORE = "_before_settings"  # attribute of a request: states by model and key
NAME = "console_settings"  # the namespace of the URLs of Settings
OURS = (
    "broker",
    "console",
    "dashboards",
)  # applications whose models are only in Settings
SHARED = ("axes", "django_celery_beat")  # also in the project's own admin
TEMPLATES = Path(__file__).parent / "settings_templates"  # in place of the admin's own


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

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        plural = NAMES.get(str(self.opts.object_name), "")
        title = gettext(plural) if plural else str(self.opts.verbose_name_plural)
        may_look = request.user.has_perm(AUDIT)
        context = {
            "title": capfirst(title),
            "audit_url": history.audit_url(self.model, "") if may_look else "",
        }
        return super().changelist_view(request, context | (extra_context or {}))

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Who changed what in the object, by the audit, with its permission."""
        one = self.get_object(request, unquote(object_id))
        if one is None:
            return redirect(history.audit_url(self.model, unquote(object_id)))
        is_seen = self.has_view_or_change_permission(request, one)
        if not is_seen or not request.user.has_perm(AUDIT):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("History of %(object)s") % {"object": one},
            "opts": self.opts,
            "object": one,
            "records": history.records(one),
            "most": history.MOST,
            "audit_url": history.audit_url(self.model, one.pk),
        }
        return TemplateResponse(request, "admin/object_history.html", context)


def note(act: Act, one: Model, before: dict[str, Any], after: dict[str, Any]) -> None:
    audit.record(act, Thing.of(one), detail={"changed": audit.changes(before, after)})


class SettingsSite(AdminSite):
    """The site on which every page is audited."""

    site_header = site_title = gettext_lazy("Backout settings")
    index_title = gettext_lazy("Settings")

    def index(
        self, request: HttpRequest, extra_context: Any = None
    ) -> TemplateResponse:
        found = sections(self.get_app_list(request))
        return super().index(request, {"sections": found, **(extra_context or {})})

    @cached_property
    def templates(self) -> DjangoTemplates:
        """The project's templates, after those of this site."""
        theirs = next(
            one for one in engines.all() if isinstance(one, DjangoTemplates)
        ).engine
        options = {
            "context_processors": theirs.context_processors,
            "libraries": theirs.libraries,
            "builtins": theirs.builtins,
        }
        return DjangoTemplates(
            {
                "NAME": NAME,
                "DIRS": [TEMPLATES, *theirs.dirs],
                "APP_DIRS": True,
                "OPTIONS": options,
            }
        )

    def template(self, names: Any) -> Template:
        """The first of these names that exists."""
        names = [names] if isinstance(names, str) else names
        return Template(self.templates.engine.select_template(names), self.templates)

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the sign-in page, which checks the second factor."""
        if self.has_permission(request):
            return redirect(f"{NAME}:index")
        wanted = request.GET.get(REDIRECT_FIELD_NAME) or reverse(f"{NAME}:index")
        return redirect_to_login(wanted, sign_in.url())

    def register(
        self,
        model_or_iterable: Any,
        admin_class: type[ModelAdmin] | None = None,
        **options: Any,
    ) -> None:
        own = admin_class or ModelAdmin
        where = {"__module__": own.__module__}
        one = isinstance(model_or_iterable, type)
        for model in [model_or_iterable] if one else model_or_iterable:
            pages: tuple[type, ...] = PAGES.get(model, ())
            bases = (AuditedAdmin, *pages, own)
            super().register(model, type(own.__name__, bases, where), **options)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002
        def with_template(
            request: HttpRequest, *args: Any, **kwargs: Any
        ) -> HttpResponse:
            answer: HttpResponse = view(request, *args, **kwargs)
            if isinstance(answer, TemplateResponse):
                answer.template_name = self.template(answer.template_name)
            return answer

        return super().admin_view(transaction.atomic(with_template), cacheable)


site = SettingsSite(name=NAME)


def take_over() -> None:
    """Move the models of Settings here from the default admin site.

    There, changes would not be audited.
    """
    admin.autodiscover()
    for model, one in list(admin.site._registry.items()):
        label = model._meta.app_label
        if label in (*OURS, *SHARED) and not site.is_registered(model):
            site.register(model, type(one))
        if label in OURS:
            admin.site.unregister(model)
