"""Users and groups under Settings: Django's admin, limited to the permissions that the
console checks. Second factors are reset here.
"""

from __future__ import annotations

from typing import Any, cast

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet
from django.forms import ModelForm, ModelMultipleChoiceField
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from broker.security.granting import groups, may_manage, permissions
from broker.security.users import IS_DJANGOS, NAME, User
from console import second_factors
from console.accounts import roles
from console.configuration.site import site

PERMISSIONS = "user_permissions"
STRONGER = gettext_noop(
    "The second factor of %(user)s was not reset: the account has permissions that you"
    " lack. Ask a superuser."
)


def user_of(request: HttpRequest) -> User:
    return cast("User", request.user)


def used_permissions() -> QuerySet[Permission]:
    """Permissions that the roles use, and any others that are already assigned.

    Django creates four permissions per table; most of them are never checked.
    """
    wanted = Q(group__isnull=False) | Q(user__isnull=False)
    for label, codename in (one.split(".") for one in roles.ADMINISTRATOR):
        wanted |= Q(content_type__app_label=label, codename=codename)
    return Permission.objects.filter(wanted).distinct()


class WithPermissions(admin.ModelAdmin):
    """Users grant only permissions that they have themselves; superusers grant any."""

    def get_form(
        self,
        request: HttpRequest,
        obj: Any = None,
        change: bool = False,  # noqa: FBT001, FBT002 - Django's
        **kwargs: Any,
    ) -> type[ModelForm]:
        """The form; it offers what the user may grant, and what is granted already."""
        form = super().get_form(request, obj, change=change, **kwargs)
        user = user_of(request)
        for name in ("permissions", "user_permissions", "groups"):
            if name not in form.base_fields:
                continue
            offered = Q(pk__in=groups(user).values("pk"))
            if name != "groups":
                offered = Q(pk__in=permissions(user) & used_permissions())
            if obj is not None:
                offered |= Q(pk__in=getattr(obj, name).all())
            field = cast("ModelMultipleChoiceField[Any]", form.base_fields[name])
            assert field.queryset is not None
            field.queryset = field.queryset.filter(offered)
        return form


@admin.register(Group, site=site)
class RoleAdmin(WithPermissions, GroupAdmin):
    pass


class OwnUserAdmin(admin.ModelAdmin):
    """Users of a model of the project's own: what they may. Its own admin has more."""

    fields = (NAME, "is_active", "is_staff", "is_superuser", *("groups", PERMISSIONS))
    filter_horizontal = ("groups", PERMISSIONS)
    search_fields = (NAME,)
    ordering = (NAME,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: User | None = None
    ) -> bool:
        return False

    def get_readonly_fields(
        self, request: HttpRequest, obj: User | None = None
    ) -> list[str]:
        return [NAME]


@admin.register(User, site=site)
class PersonAdmin(WithPermissions, UserAdmin if IS_DJANGOS else OwnUserAdmin):  # type: ignore[misc]
    list_display = (NAME, "roles", "is_active", "is_staff", "last_login")
    list_filter = ("groups", "is_active", "is_staff", "is_superuser")
    actions = ("reset_second_factor",)

    def has_change_permission(
        self, request: HttpRequest, obj: User | None = None
    ) -> bool:
        may = super().has_change_permission(request, obj)
        return may and (obj is None or may_manage(user_of(request), obj))

    def has_delete_permission(
        self, request: HttpRequest, obj: User | None = None
    ) -> bool:
        may = super().has_delete_permission(request, obj)
        return may and (obj is None or may_manage(user_of(request), obj))

    def get_readonly_fields(
        self, request: HttpRequest, obj: User | None = None
    ) -> list[str]:
        fields = list(super().get_readonly_fields(request, obj))
        return fields if user_of(request).is_superuser else [*fields, "is_superuser"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description=gettext_lazy("Groups"))
    def roles(self, user: User) -> str:
        return ", ".join(sorted(group.name for group in user.groups.all()))

    @admin.action(
        description=gettext_lazy("Reset the second factor, and end all sessions"),
        permissions=["change"],
    )
    def reset_second_factor(self, request: HttpRequest, users: QuerySet[User]) -> None:
        for user in users:
            if may_manage(user_of(request), user):
                self.message_user(request, second_factors.reset(user), messages.SUCCESS)
            else:
                said = gettext(STRONGER) % {"user": user}
                self.message_user(request, said, messages.ERROR)


if apps.is_installed("axes"):
    from axes.models import AccessAttempt, AccessFailureLog, AccessLog

    from console.configuration import sign_ins

    site.register(AccessAttempt, sign_ins.AttemptAdmin)
    site.register([AccessLog, AccessFailureLog], sign_ins.UnlistedAdmin)
