"""Users and groups under Settings: Django's admin, limited to the permissions that the
console checks. Second factors are reset here.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import ManyToManyField, Q, QuerySet
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest

from console import second_factors
from console.accounts import roles

admin.site.unregister([User, Group])


def that_count() -> QuerySet[Permission]:
    """Permissions that the roles use, and any others that are already assigned.

    Django creates four permissions per table; most of them are never checked.
    """
    wanted = Q(group__isnull=False) | Q(user__isnull=False)
    for label, codename in (one.split(".") for one in roles.ADMINISTRATOR):
        wanted |= Q(content_type__app_label=label, codename=codename)
    return Permission.objects.filter(wanted).distinct()


class WithPermissions(admin.ModelAdmin):
    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: Any = None, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any] | None:
        if db_field.related_model is Permission:
            kwargs["queryset"] = that_count()
        return super().formfield_for_manytomany(db_field, request, **kwargs)


@admin.register(Group)
class RoleAdmin(WithPermissions, GroupAdmin):
    pass


@admin.register(User)
class PersonAdmin(WithPermissions, UserAdmin):
    list_display = ("username", "roles", "is_active", "is_staff", "last_login")
    list_filter = ("groups", "is_active", "is_staff", "is_superuser")
    actions = ("reset_second_factor",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description="Groups")
    def roles(self, user: User) -> str:
        return ", ".join(sorted(group.name for group in user.groups.all()))

    @admin.action(
        description="Reset the second factor, and end all sessions",
        permissions=["change"],
    )
    def reset_second_factor(self, request: HttpRequest, users: QuerySet[User]) -> None:
        for user in users:
            self.message_user(request, second_factors.reset(user), messages.SUCCESS)
