"""Wildcard patterns for addresses: matching, and order by specificity.

An address is words separated by dots. In a pattern ``*`` is any one word, and ``#``, at
the end only, is any number of words, including none. For address settings the three
characters are configurable, and a pattern between literal markers is literal
(``BROKER_WILDCARD_…``, ``BROKER_LITERAL_MATCH_MARKERS``). Authorities always use the
plain syntax, so that this configuration does not change them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError

WORD, STAR, END = 0, 1, 2  # sort order of each word of a pattern


@dataclass(frozen=True, slots=True)
class Syntax:
    """The special characters of patterns.

    Raises:
        ImproperlyConfigured: they are not single, not all different, or letters or
            digits.

    Source:
        ActiveMQ Artemis manual, "Understanding the Wildcard Syntax" and "Literal
        Matches".
    """

    delimiter: str = "."
    any_words: str = "#"
    single_word: str = "*"
    markers: str = ""  # an opening and a closing marker of literal patterns; or empty

    def __post_init__(self) -> None:
        signs = [self.delimiter, self.any_words, self.single_word, *self.markers]
        if any(len(sign) != 1 or sign.isalnum() for sign in signs) or len(
            set(signs)
        ) < len(signs):
            raise ImproperlyConfigured(
                "BROKER_WILDCARD_DELIMITER, _ANY_WORDS and _SINGLE_WORD must be one"
                " character each, no letter or digit, and all different, also from the"
                f" markers: {signs}."
            )
        if len(self.markers) not in (0, 2):
            raise ImproperlyConfigured(
                "BROKER_LITERAL_MATCH_MARKERS must be two characters, such as (), or"
                f" empty: {self.markers!r}."
            )

    def literal(self, pattern: str) -> str | None:
        """The address, if the pattern is an address between literal markers; else
        None."""
        if self.markers and pattern[:1] + pattern[1:][-1:] == self.markers:
            return pattern[1:-1]
        return None


PLAIN = Syntax()
DELIMITER, ANY_WORDS, SINGLE_WORD = PLAIN.delimiter, PLAIN.any_words, PLAIN.single_word


def configured() -> Syntax:
    """The syntax for patterns of address settings, as configured.

    Raises:
        ImproperlyConfigured: the settings are invalid.
    """
    return made(
        settings.BROKER_WILDCARD_DELIMITER,
        settings.BROKER_WILDCARD_ANY_WORDS,
        settings.BROKER_WILDCARD_SINGLE_WORD,
        settings.BROKER_LITERAL_MATCH_MARKERS,
    )


made = cache(Syntax)


def check_pattern(pattern: str, syntax: Syntax = PLAIN) -> None:
    """Refuse an invalid pattern.

    Raises:
        ValidationError: it is empty, has ``#`` before its end, or has a wildcard
            beside other characters in one word.
    """
    hash_, star = syntax.any_words, syntax.single_word
    if not pattern or syntax.literal(pattern) == "":
        raise ValidationError(
            f"A pattern cannot be empty; {hash_} alone matches everything."
        )
    if syntax.literal(pattern) is not None:
        return
    words = pattern.split(syntax.delimiter)
    if hash_ in words[:-1]:
        raise ValidationError(f"{hash_} can only be the last word of a pattern.")
    for word in words:
        if len(word) > 1 and (hash_ in word or star in word):
            raise ValidationError(
                f"In {word!r} a wildcard stands beside other characters; {star} and"
                f" {hash_} stand for whole words."
            )


def check_match(pattern: str) -> None:
    """Refuse an invalid pattern of an address setting, in the configured syntax.

    Raises:
        ValidationError: see ``check_pattern``.
    """
    check_pattern(pattern, configured())


def matches(pattern: str, address: str, syntax: Syntax = PLAIN) -> bool:
    """Whether the pattern matches the address.

    Source:
        ActiveMQ Artemis manual, "Understanding the Wildcard Syntax": its examples are
        cases in tests/broker/formats/test_wildcards.py.
    """
    literal = syntax.literal(pattern)
    if literal is not None:
        return literal == address
    wanted = pattern.split(syntax.delimiter)
    words = address.split(syntax.delimiter)
    if wanted[-1] == syntax.any_words:
        wanted.pop()
        words = words[: len(wanted)]
    return len(wanted) == len(words) and all(
        one in (syntax.single_word, word)
        for one, word in zip(wanted, words, strict=True)
    )


def overlap(one: str, other: str) -> str | None:
    """The pattern of the addresses that two patterns both match, in the plain syntax;
    None if no address matches both."""
    words, others = one.split(DELIMITER), other.split(DELIMITER)
    ends = words[-1] == ANY_WORDS, others[-1] == ANY_WORDS
    if ends[0]:
        words.pop()
    if ends[1]:
        others.pop()
    if len(words) < len(others):
        words, others, ends = others, words, ends[::-1]
    if len(words) > len(others) and not ends[1]:
        return None
    both: list[str] = []
    for place, word in enumerate(words):
        against = others[place] if place < len(others) else SINGLE_WORD
        if SINGLE_WORD not in (word, against) and word != against:
            return None
        both.append(against if word == SINGLE_WORD else word)
    return DELIMITER.join([*both, *([ANY_WORDS] if all(ends) else [])])


def specificity(pattern: str, syntax: Syntax = PLAIN) -> tuple[object, ...]:
    """A sort key: the most specific of the patterns that match an address is first.

    An exact name; then a literal one; then patterns with ``*`` only, word for word from
    the left, a word before a ``*`` and more words before fewer; then patterns with
    ``#``, the longer first and of equal length the one with its first ``*`` later. No
    two patterns that match the same address are equal.

    Source:
        ActiveMQ Artemis, HierarchicalObjectRepository and Match. The last rule is not
        in Artemis, where the order of a hash table decides.
    """
    if syntax.literal(pattern) is not None:
        return (2,)
    words = pattern.split(syntax.delimiter)
    places = (*(STAR if word == syntax.single_word else WORD for word in words), END)
    if words[-1] == syntax.any_words:
        return (4, -len(pattern), places)
    if STAR in places:
        return (3, places, len(pattern))
    return (1,)
