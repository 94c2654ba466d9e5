"""Authorities: what a user or a group may do on which queues."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from broker.formats.wildcards import check_pattern
from broker.models.fields import CheckedCharField


class Authority(models.Model):
    """The authorities of a user or of a group for the queues that a pattern matches.

    Source:
        IBM MQ, ``setmqaut``: the object authorities of queues.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True
    )
    group = models.ForeignKey("auth.Group", models.CASCADE, null=True, blank=True)
    pattern = CheckedCharField(
        max_length=255,
        default="#",
        validators=[check_pattern],
        help_text=gettext_lazy(
            "Words separated by dots; * matches one word, # at the end matches"
            " any number of words."
        ),
    )
    may_inquire = models.BooleanField("inquire", default=False)
    may_browse = models.BooleanField("browse", default=False)
    may_unmask = models.BooleanField("unmask", default=False, db_default=False)
    may_get = models.BooleanField("get", default=False)
    may_put = models.BooleanField("put", default=False)
    may_pass_all = models.BooleanField("passall", default=False)
    may_set = models.BooleanField("set", default=False)

    class Meta:
        verbose_name_plural = gettext_lazy("authorities")
        ordering = ["pattern", "id"]
        constraints = [
            models.CheckConstraint(
                name="authorities_are_of_a_user_or_a_group",
                condition=Q(user__isnull=True) ^ Q(group__isnull=True),
            ),
            models.UniqueConstraint(
                "user",
                "group",
                "pattern",
                name="one_authority_a_principal_and_pattern",
                nulls_distinct=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group} on {self.pattern}"
