"""A filter as a value: its terms, its text, and adding or removing a term."""

from __future__ import annotations

from dataclasses import dataclass

from broker.formats.filters.keys import (
    COPY,
    KEYS,
    PATH,
    PROPERTY,
    WORD,
    Key,
    KeyKind,
)
from broker.formats.filters.values import Alternative, Is, Text, quoted

MANY = (KeyKind.WORDS, KeyKind.NUMBER, KeyKind.SIZE, KeyKind.MOMENT, KeyKind.SPAN)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition of a filter: the key has one of some values, or none of them."""

    key: Key
    alternatives: tuple[Alternative, ...]
    # Name of the application's property, or path in the body, if the key has one.
    name: str = ""
    is_negated: bool = False

    def __str__(self) -> str:
        sign = "-" if self.is_negated else ""
        values = ",".join(str(one) for one in self.alternatives)
        if self.key == WORD:
            return sign + ",".join(word_written(one) for one in self.alternatives)
        if self.key == PROPERTY:
            return f"{sign}h.{quoted(self.name)}:{values}"
        if self.key == PATH:
            return f"{sign}body.{self.name}:{values}"
        return f"{sign}{'id' if self.key == COPY else self.key.name}:{values}"

    @property
    def has_one_value(self) -> bool:
        """Whether the term requires a value of a key of which a message has only one
        value."""
        return not self.is_negated and self.key.kind not in MANY


@dataclass(frozen=True, slots=True)
class Filter:
    """The conditions that messages must meet. The text of a filter is its normal form:
    parsing the text gives an equal filter."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(str(term) for term in self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def plus(self, term: Term) -> Filter:
        """This filter with one more term. The new term replaces terms that require
        another value of the same key, if a message has only one value of this key."""
        kept = [
            one
            for one in self.terms
            if one != term
            and not (
                term.has_one_value
                and one.has_one_value
                and (one.key, one.name) == (term.key, term.name)
            )
        ]
        return Filter((*kept, term))

    def minus(self, term: Term) -> Filter:
        """This filter without a term."""
        return Filter(tuple(one for one in self.terms if one != term))


def word_written(one: Alternative) -> str:
    """A word without a key; a number is put in quotes, as it would be read as an id."""
    text = str(one)
    return f'"{text}"' if text.isdecimal() else text


def equal(key: str, value: str | int, *, name: str = "") -> Term:
    """The term that asks for just this; for what a person clicks.

    Args:
        key: one of ``KEYS`` with a text, a choice or a number, or ``h``.
        value: as the message has it; nothing in it is a sign of the language.
        name: of the property.
    """
    found = PROPERTY if key == PROPERTY.name else KEYS[key]
    if isinstance(value, int):
        assert found.kind == KeyKind.NUMBER, key
        return Term(found, (Is(value),))
    assert found.kind in (KeyKind.TEXT, KeyKind.CHOICE, KeyKind.PROPERTY), key
    return Term(found, (Is(Text((value,))),), name)
