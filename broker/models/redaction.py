"""Redaction rules: the values to mask in messages for users without ``unmask``."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from broker.formats.wildcards import check_pattern
from broker.models.fields import CheckedCharField
from broker.models.moment_field import MomentField

LONGEST = 256  # limit of characters of a rule's target
NAME = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z",
    gettext_lazy(
        "Give a name of letters, digits and . _ -, which begins with a letter or digit."
    ),
)


class RedactionRule(models.Model):
    """A value to mask in messages of some queues, and in their copies on other
    queues."""

    class Kind(models.TextChoices):
        """The syntax of the target."""

        JSON = "json", gettext_lazy("JSON pointer")
        XML = "xml", gettext_lazy("path of XML elements")
        HL7 = "hl7", gettext_lazy("field of HL7 version 2")
        PROPERTY = "property", gettext_lazy("property")
        PATTERN = "pattern", gettext_lazy("regular expression")

    name = models.CharField(
        max_length=40,
        validators=[NAME],
        help_text=gettext_lazy("Shown in place of masked values, such as PII-3."),
    )
    queues = CheckedCharField(
        max_length=255,
        default="#",
        validators=[check_pattern],
        help_text=gettext_lazy(
            "The queues and addresses that the rule applies to: words separated"
            " by dots; * matches one word, # at the end matches any number of words."
        ),
    )
    kind = models.CharField(max_length=8, choices=Kind)
    target = models.CharField(
        max_length=LONGEST,
        help_text=gettext_lazy(
            "JSON: /patient/*/name, with ** for any depth. XML:"
            " /order/customer/name, //name or //customer/@id. HL7: PID-5 or PID-5.1."
            " Property: its name, with * for any characters. Or a regular expression"
            " (RE2)."
        ),
    )
    is_active = models.BooleanField(
        gettext_lazy("active"), default=True, db_default=True
    )
    revision = models.PositiveIntegerField(default=1, db_default=1, editable=False)
    changed_at = MomentField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint("name", name="one_redaction_a_name")]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save. A change is a new revision; the audit has the values of each
        revision."""
        is_change = not self._state.adding
        if is_change:
            self.revision = F("revision") + 1
            self.changed_at = Now()
        super().save(*args, **kwargs)
        if is_change:
            self.refresh_from_db(fields=["revision", "changed_at"])
