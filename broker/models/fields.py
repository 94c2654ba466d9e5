"""Fields whose values are checked by functions of the broker.

A function can change; a migration that is applied cannot. Migrations therefore do not
name these functions: they see the plain field of Django.
"""

from __future__ import annotations

from inspect import isfunction
from typing import Any

from django.db import models


class Checked(models.Field):
    """Adds to a field that migrations do not see its functions among ``validators``."""

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, _, args, options = super().deconstruct()
        validators = options.pop("validators", ())
        if kept := [one for one in validators if not isfunction(one)]:
            options["validators"] = kept
        plain = type(self).__mro__[2]
        return name, f"django.db.models.{plain.__name__}", list(args), options


class CheckedCharField(Checked, models.CharField):
    pass


class CheckedTextField(Checked, models.TextField):
    pass


class CheckedFloatField(Checked, models.FloatField):
    pass
