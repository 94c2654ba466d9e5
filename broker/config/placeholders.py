"""Placeholders ``${property:default}`` in the XML of other brokers.

Artemis and Spring put the value of a system property there when they start. Nobody
knows it here, so the default is taken, and told; without a default nothing is known,
and the placeholder is left where it is.

Source:
    ActiveMQ Artemis, XMLUtil.replaceSystemPropsInString; Spring Framework,
    PropertySourcesPlaceholderConfigurer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from broker.config.xml_tree import Element
from broker.formats.inventory import Path

OPENED = "${"
INNERMOST = re.compile(r"\$\{([^{}]*?)(?::([^{}]*))?\}")
UNKNOWN = (
    "The value comes from a system property, without a default. Put the value that it"
    " has there into the file, and convert it again."
)


def is_open(text: str) -> bool:
    """Whether a text has a placeholder without a value."""
    return OPENED in text


def fill(root: Element) -> Iterator[tuple[Path, str]]:
    """Replace the placeholders that have defaults, in the whole document.

    Yields:
        The path of each part that was changed, and a sentence about it.
    """
    for element in root.everything():
        for name, text in element.attributes.items():
            if OPENED in text and (filled := defaults_of(text)) != text:
                element.attributes[name] = filled
                yield element.at(name), sentence(text, filled)
        text = element.text
        if OPENED in text and (filled := defaults_of(text)) != text:
            path = element.content
            element.texts = [filled]
            yield element.path if not filled else path, sentence(text, filled)


def sentence(text: str, filled: str) -> str:
    return f"{text} was read with its default, as {filled!r}. Check that it is so."


def defaults_of(text: str) -> str:
    """A text with the defaults of its placeholders, the innermost first; each step
    makes it shorter."""
    while True:
        filled = INNERMOST.sub(lambda m: m[0] if m[2] is None else m[2].strip(), text)
        if filled == text:
            return text
        text = filled
