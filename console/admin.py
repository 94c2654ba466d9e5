"""Users under Settings: as Django has them; second factors are reset there."""

from __future__ import annotations

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from console import second_factors

admin.site.unregister(User)


@admin.register(User)
class PersonAdmin(UserAdmin):
    actions = ("reset_second_factor",)

    @admin.action(
        description="Reset the second factor, and end all sessions",
        permissions=["change"],
    )
    def reset_second_factor(self, request: HttpRequest, users: QuerySet[User]) -> None:
        for user in users:
            self.message_user(request, second_factors.reset(user), messages.SUCCESS)
