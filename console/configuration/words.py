"""Values of stored fields as texts, for what was changed and what would be."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field, ForeignKey, Model
from django.utils.translation import gettext

from broker.admin import quantities

LONGEST = 300  # most characters of a value


def title(model: type[Model], name: str) -> str:
    """The label of a field; its name, if there is no such field any more."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return name
    return quantities.title_of(field) if isinstance(field, Field) else name


def value(model: type[Model], name: str, stored: Any) -> str:
    """The text of a stored value, or of one that an audit record has."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        field = None
    if isinstance(stored, list):
        said = ", ".join(map(str, stored)) or gettext("none")
    elif stored is None:
        said = gettext("not defined")
    elif isinstance(stored, bool):
        said = gettext("yes") if stored else gettext("no")
    elif isinstance(field, ForeignKey):
        other = field.related_model._base_manager.filter(pk=stored).first()
        said = str(other or stored)
    elif isinstance(field, Field) and field.choices:
        said = str(dict(field.flatchoices).get(stored, stored))
    elif isinstance(stored, int | float) and stored > 0 and quantities.ending_of(name):
        said = quantities.write_quantity(name, stored)
    else:
        said = str(stored) if stored != "" else gettext("none")
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
