"""What the console keeps for people; no message depends on it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Now


class SavedView(models.Model):
    """A filter with a name, to come back to. Whoever opens it sees what they may."""

    slug = models.CharField(max_length=100)  # how it stands in URLs
    name = models.CharField(max_length=80)
    filter = models.TextField()  # in its normal form
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views"
    )
    is_shared = models.BooleanField(default=False)  # others see its name and filter
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
    """Somebody signed in, in one browser; see ``console.accounts.sessions``."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="sessions"
    )
    began_at = models.DateTimeField(db_default=Now())  # when they signed in
    seen_at = models.DateTimeField(db_default=Now())  # when they last did something
    host = models.TextField(db_default="")  # whence they signed in
    browser = models.TextField(db_default="")  # as it names itself
    is_stale = models.BooleanField(db_default=False)  # it is to get a new key

    class Meta:
        default_permissions = ()


class CodeTries(models.Model):
    """What became of the codes that somebody gave; see ``console.second_factors``."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    wrong = models.PositiveSmallIntegerField(db_default=0)  # since the last right one
    wrong_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(db_default=0)  # of time, whose code was taken

    class Meta:
        default_permissions = ()
