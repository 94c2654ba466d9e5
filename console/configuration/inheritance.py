"""What an empty field of a form has, and which setting says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.forms import ModelForm
from django.urls import reverse
from django.utils.translation import gettext

from broker.admin import quantities
from broker.config.address_settings import DEFAULTS, by_specificity, decide
from broker.formats.wildcards import configured, specificity
from broker.models import AddressSetting, Queue
from console.configuration import effective_settings

CHANGE = "console_settings:broker_addresssetting_change"
ANY = "any"  # replaces a wildcard, to make an address that a pattern matches


@dataclass(frozen=True, slots=True)
class Inherited:
    """The value that a field has while it is empty."""

    words: str
    match: str  # pattern of the setting that has it; empty: the default
    url: str  # the form of that setting
    is_empty: bool  # whether the field of the form is empty


def typed(form: ModelForm, names: Any) -> dict[str, Any]:
    """The values of a form that are valid, by stored field; else the stored ones."""
    if form.is_bound:
        form.is_valid()
        return {name: form.cleaned_data.get(name) for name in names}
    return {name: getattr(form.instance, name) for name in names}


def pattern_of(form: ModelForm) -> str:
    """The pattern of a form; the one that matches everything, if it has none yet."""
    return typed(form, ["match"])["match"] or configured().any_words


def example_of(pattern: str) -> str:
    """An address that only this pattern, and less specific ones, match."""
    syntax = configured()
    literal = syntax.literal(pattern)
    if literal is not None:
        return literal
    words = pattern.split(syntax.delimiter)
    if words[-1] == syntax.any_words:
        words[-1:] = [ANY, ANY]
    return syntax.delimiter.join(
        ANY if one == syntax.single_word else one for one in words
    )


def less_specific(pattern: str) -> list[AddressSetting]:
    """The settings that hold for all that a pattern matches where its own has nothing
    to say, the most specific first."""
    syntax = configured()
    own = specificity(pattern, syntax)
    found = by_specificity(example_of(pattern), AddressSetting.objects.all())
    return [one for one in found if specificity(one.match, syntax) > own]


def in_effect(form: ModelForm) -> AddressSetting:
    """The settings that a form gives to what its pattern matches."""
    pattern, own = pattern_of(form), typed(form, DEFAULTS)
    above = less_specific(pattern)
    merged = {name: decide(name, above).value for name in DEFAULTS}
    given = {name: value for name, value in own.items() if value is not None}
    return AddressSetting(match=pattern, **merged | given)


def of_setting(form: ModelForm) -> dict[str, Inherited]:
    """What each field of an address setting inherits, by field."""
    above = less_specific(pattern_of(form))
    urls = {
        one.match: reverse(
            "console_settings:broker_addresssetting_change", args=[one.pk]
        )
        for one in above
    }
    decisions = [decide(name, above) for name in DEFAULTS]
    merged, own = in_effect(form), typed(form, DEFAULTS)
    found = {}
    for one in decisions:
        row = effective_settings.row(one, merged)
        match = one.decided_by or ""
        is_empty = own[one.field] is None
        found[one.field] = Inherited(row.words, match, urls.get(match, ""), is_empty)
    return found


def of_queue(form: ModelForm) -> dict[str, Inherited]:
    """What each field of a queue has while it is empty, by field."""
    own = typed(form, [name for name, _ in of_queues()])
    return {
        name: Inherited(words, "", "", is_empty=own[name] in (None, ""))
        for name, words in of_queues()
    }


def of_queues() -> Iterator[tuple[str, str]]:
    largest = quantities.write_quantity(
        "max_message_bytes", settings.BROKER_MAX_MESSAGE_BYTES
    )
    limit = gettext("%(size)s, the limit of the broker") % {"size": largest}
    yield "max_depth", gettext("no limit")
    yield "max_message_bytes", limit
    yield "backout_queue", gettext("none")
    yield "selector", gettext("none: it accepts every message")
    yield "reason_above", gettext("as for other queues")
    yield "approval_above", gettext("never")


def matching(address: str) -> Mapping[str, str]:
    """The settings that match an address, the most specific first: pattern and form."""
    return {
        one.match: reverse(
            "console_settings:broker_addresssetting_change", args=[one.pk]
        )
        for one in by_specificity(address, AddressSetting.objects.all())
    }


def address_of(form: ModelForm) -> str:
    """The name of the address of a queue's form; empty if there is none yet."""
    row = form.instance
    return row.address.name if isinstance(row, Queue) and row.address_id else ""
