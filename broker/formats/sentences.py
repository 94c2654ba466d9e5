"""Sentences with values: English for programs, and translated where a page shows them.

Problems, advice and the like are found once for all users and doors. Their sentences
are English texts that keep what they are made of, so that each page can say the same in
the language of its reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from broker.formats.quantities import write_count


class Sentence(str):
    """A text that knows its template, such as ``%(queue)s is paused.``, and the values.

    A value may be a sentence of its own, or a tuple of several. A whole number is a
    count, and gets separators; that of an object is given as a text.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    def __reduce__(self) -> tuple[Any, ...]:
        return made, (self.template, self.values)


def say(template: str, **values: object) -> Sentence:
    """A sentence of a template that is marked by ``gettext_noop``."""
    return made(template, values)


def made(template: str, values: Mapping[str, object]) -> Sentence:
    sentence = Sentence(template % {name: in_english(values[name]) for name in values})
    sentence.template, sentence.values = template, values
    return sentence


def in_english(value: object) -> object:
    if isinstance(value, int):
        return f"{value:,}"
    return "; ".join(value) if isinstance(value, tuple) else value


def translated(text: str) -> str:
    """A text in the language that is active: a sentence with its values, any other text
    as it was marked."""
    if not isinstance(text, Sentence):
        return gettext(text)
    values = {name: in_language(value) for name, value in text.values.items()}
    return gettext(text.template) % values


def in_language(value: object) -> object:
    if isinstance(value, tuple):
        return "; ".join(map(translated, value))
    if isinstance(value, int):
        return write_count(value)
    return translated(value) if isinstance(value, Sentence) else value
