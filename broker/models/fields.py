"""Fields whose values are checked by functions of the broker.

A function can be renamed; an applied migration cannot change. Therefore migrations do
not name these functions: they contain Django's plain field.
"""

from __future__ import annotations

from inspect import isfunction
from typing import Any

from django.db import models


class Checked(models.Field):
    """Mixin: leaves functions among ``validators`` out of migrations."""

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
