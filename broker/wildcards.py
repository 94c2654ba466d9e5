"""Patterns over addresses: which match, and which of those is more specific.

An address is words separated by dots. In a pattern ``*`` is any one word, and ``#``, at
the end only, is any number of words, also none.
"""

from __future__ import annotations

from django.core.exceptions import ValidationError

DELIMITER, ANY_WORDS, SINGLE_WORD = ".", "#", "*"


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that could not mean what it looks like.

    Raises:
        ValidationError: it is empty, has ``#`` before its end, or has a wildcard
            beside other characters in one word.
    """
    words = pattern.split(DELIMITER)
    if not pattern:
        raise ValidationError("A pattern cannot be empty; # alone matches everything.")
    if ANY_WORDS in words[:-1]:
        raise ValidationError("# can only be the last word of a pattern.")
    for word in words:
        if len(word) > 1 and (ANY_WORDS in word or SINGLE_WORD in word):
            raise ValidationError(
                f"In {word!r} a wildcard stands beside other characters; * and #"
                " stand for whole words."
            )


def matches(pattern: str, address: str) -> bool:
    """Whether the pattern covers the address.

    Source:
        ActiveMQ Artemis manual, "Understanding the Wildcard Syntax": its examples are
        cases in tests/broker/test_wildcards.py.
    """
    wanted, words = pattern.split(DELIMITER), address.split(DELIMITER)
    if wanted[-1] == ANY_WORDS:
        wanted.pop()
        words = words[: len(wanted)]
    return len(wanted) == len(words) and all(
        one in (SINGLE_WORD, word) for one, word in zip(wanted, words, strict=True)
    )


def specificity(pattern: str) -> tuple[object, ...]:
    """A sort key: of the patterns that match an address, the least is most specific.

    An exact name; then patterns with ``*`` only, word for word from the left, a word
    before a ``*`` and more words before fewer; then patterns with ``#``, the longer
    first and of equal length the one with its first ``*`` later.

    Source:
        ActiveMQ Artemis, HierarchicalObjectRepository and Match; the last tie is ours,
        Artemis leaves it to the order of a hash table.
    """
    words = pattern.split(DELIMITER)
    stars = tuple(word == SINGLE_WORD for word in words)
    if words[-1] == ANY_WORDS:
        return (3, -len(pattern), stars)
    if any(stars):
        return (2, stars, -len(words), len(pattern))
    return (1,)
