"""Wildcard patterns of an Artemis, whose signs its file can change.

Source:
    ActiveMQ Artemis manual, "Understanding the Wildcard Syntax", "Literal Matches".
"""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ImproperlyConfigured, ValidationError

from broker.config.xml_tree import Element
from broker.formats.inventory import Path
from broker.formats.wildcards import Syntax, check_pattern, configured

SIGNS = {
    "delimiter": "delimiter",
    "any-words": "any_words",
    "single-word": "single_word",
}
SETTINGS = {
    "delimiter": "BROKER_WILDCARD_DELIMITER",
    "any_words": "BROKER_WILDCARD_ANY_WORDS",
    "single_word": "BROKER_WILDCARD_SINGLE_WORD",
    "markers": "BROKER_LITERAL_MATCH_MARKERS",
}


def syntax_of(root: Element) -> tuple[Syntax, Mapping[Path, str]]:
    """The signs of a document, and the settings that have them, by the part that says
    so.

    Signs that this broker cannot have leave the plain ones.
    """
    signs: dict[str, str] = {}
    told: dict[Path, str] = {}
    for group in root.named("wildcard-addresses"):
        for one in group.children:
            if one.name in SIGNS and one.text:
                signs[SIGNS[one.name]] = one.text
                told[one.content] = SIGNS[one.name]
    for one in root.named("literal-match-markers"):
        if one.text:
            signs["markers"] = one.text
            told[one.content] = "markers"
    try:
        syntax = Syntax(**signs)
    except ImproperlyConfigured:
        syntax = Syntax()
    written = settings_of(syntax)
    return syntax, {path: written[name] for path, name in told.items()}


def settings_of(syntax: Syntax) -> Mapping[str, str]:
    """The settings of Django that have these signs, by the attribute of a syntax."""
    return {
        name: f'{setting} = "{getattr(syntax, name)}"'
        for name, setting in SETTINGS.items()
    }


def translated(pattern: str, theirs: Syntax, ours: Syntax | None = None) -> str:
    """A pattern in the signs of this broker.

    Args:
        pattern: in the signs of the document.
        theirs: the signs of the document.
        ours: by default, those that are configured here.

    Raises:
        ValueError: it cannot be said, with a sentence.
    """
    ours = ours or configured()
    try:
        check_pattern(pattern, theirs)
    except ValidationError as error:
        raise ValueError(error.messages[0]) from None
    if theirs == ours:
        return pattern
    literal = theirs.literal(pattern)
    if literal is not None:
        return exact(literal, ours)
    words = pattern.split(theirs.delimiter)
    if len(words) > 1 and theirs.delimiter != ours.delimiter:
        raise ValueError(
            f"Words are separated by {theirs.delimiter!r} there, and by"
            f" {ours.delimiter!r} here. Set BROKER_WILDCARD_DELIMITER ="
            f" {theirs.delimiter!r}, and convert it again."
        )
    signs = {theirs.any_words: ours.any_words, theirs.single_word: ours.single_word}
    return ours.delimiter.join(signs.get(word) or exact(word, ours) for word in words)


def exact(text: str, ours: Syntax) -> str:
    """A text as a pattern, or a word of one, that stands for itself."""
    words = text.split(ours.delimiter)
    if not {ours.any_words, ours.single_word} & set(words):
        return text
    if ours.markers:
        return text.join(ours.markers)
    raise ValueError(
        f"{text!r} is a name there, and has a wildcard of this broker. Set"
        " BROKER_LITERAL_MATCH_MARKERS, or give the address another name."
    )
