"""The labels that Django makes from names are all marked for translation."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Field, Model
from django.utils.translation import override

from broker.admin import labels
from broker.admin.quantities import QuantitiesAdmin, ending_of, help_of, name_of
from broker.formats.english import english
from broker.models import DeadLetter
from broker.security.authorities import FIELDS
from console import urls  # noqa: F401  the URLs fill the site
from console.configuration import site as settings_site

# Names of authorities are the same in each language.
AUTHORITIES = set(FIELDS.values())


def shown() -> Iterator[tuple[type[Model], Field, bool]]:
    """The fields on pages of Settings, and whether a quantity is without its unit."""
    for model, page in settings_site.site._registry.items():
        if model._meta.app_label != "broker":
            continue
        lists = {*page.list_display, *page.list_filter}
        for field in (*model._meta.fields, *model._meta.many_to_many):
            if (field.editable or field.name in lists) and not field.primary_key:
                yield model, field, isinstance(page, QuantitiesAdmin)


def test_labels_of_models_and_fields_are_marked() -> None:
    models, names = set(), set()
    for model, field, is_quantity in shown():
        models |= {
            model._meta.verbose_name_raw,
            english(model._meta.verbose_name_plural),
        }
        if field.name not in AUTHORITIES:
            names |= {name_of(field)}
            names |= set() if is_quantity else {english(field.verbose_name)}

    assert models == set(labels.MODELS)
    assert names == set(labels.FIELDS)


def test_helps_without_a_unit_are_marked() -> None:
    helps = {help_of(field) for _, field, _ in shown() if ending_of(field.name)}

    assert helps - {""} == set(labels.HELPS)


def test_programs_read_english_whatever_language_is_active() -> None:
    with override("de"):
        assert english(DeadLetter.Cause.EXPIRED.label) == "expired"
        assert DeadLetter._meta.verbose_name_raw == "dead letter"
