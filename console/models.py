"""Tables of the console. No message depends on them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Now


class SavedView(models.Model):
    """A named filter. Each reader sees the messages that they may see."""

    slug = models.CharField(max_length=100)  # slug in URLs
    name = models.CharField(max_length=80)
    filter = models.TextField()  # the filter in its normal form
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views"
    )
    is_shared = models.BooleanField(default=False)  # others may see its name and filter
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["slug"], name="console_savedview_slug"),
            models.UniqueConstraint(
                fields=["owner", "name"], name="console_savedview_owner_name"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BrowserSession(AbstractBaseSession):
    """A session of a signed-in user; see ``console.accounts.sessions``."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="sessions"
    )
    began_at = models.DateTimeField(db_default=Now())  # time of sign-in
    seen_at = models.DateTimeField(db_default=Now())  # time of the last activity
    host = models.TextField(db_default="")  # host at sign-in
    browser = models.TextField(db_default="")  # User-Agent
    # the session gets a new key at its next activity
    is_stale = models.BooleanField(db_default=False)

    class Meta:
        default_permissions = ()


class CodeTries(models.Model):
    """The state of a user's second-factor codes; see ``console.second_factors``."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    # wrong codes since the last right one
    wrong = models.PositiveSmallIntegerField(db_default=0)
    wrong_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(db_default=0)  # time step of the last code used

    class Meta:
        default_permissions = ()
