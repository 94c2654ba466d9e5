"""Files of other brokers as ``backout.toml``. What cannot be expressed is a comment at
its beginning, one sentence for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from broker.declarations.advising import circles_in
from broker.declarations.converters import activemq, artemis, mqsc, rabbitmq
from broker.declarations.converters.converted import Converted
from broker.declarations.converters.recognizing import require_form, text_of
from broker.declarations.documents import write
from broker.errors.settings import WrongSettings
from broker.formats.quantities import write_size

WIDTH = 200  # most characters of a comment in one line
LARGEST_BYTES = 2**24  # Largest file; the document that is made of it is far smaller.
FORMS: Mapping[str, Callable[[str], Converted]] = {
    "rabbitmq": rabbitmq.convert,
    "artemis": artemis.convert,
    "activemq": activemq.convert,
    "mqsc": mqsc.convert,
}


def read(form: str, content: bytes) -> Converted:
    """What a file of another broker declares.

    Args:
        form: one of ``FORMS``.
        content: the file.

    Raises:
        WrongSettings: it is not of this form.
    """
    if len(content) > LARGEST_BYTES:
        raise WrongSettings("", f"It is above {write_size(LARGEST_BYTES)}. Split it.")
    text = text_of(content)
    require_form(form, text)
    found = FORMS[form](text)
    found.name_rights()
    found.notes += map(str, circles_in(found.declarations))
    return found


def in_toml(found: Converted, form: str, *, source: str) -> str:
    """The declarations and comments as ``backout.toml``; ``source`` is the file's
    name."""
    head = f"Converted from {source} ({form}). {found.summary}"
    comments = found.comments
    if comments:
        head += "\nWhat has no equal here:"
    return write(found.declarations, notes=[head, *map(laid_out, comments)])


def laid_out(comment: str) -> str:
    """A comment; if it is long, each of its places is on its own line."""
    if len(comment) > WIDTH:
        comment = re.sub(r"; (?=lines? \d)", ";\n  ", comment)
    return f"- {comment}"


def convert(form: str, content: bytes, *, source: str) -> str:
    """A file as ``backout.toml``.

    Raises:
        WrongSettings: it is not of this form.
    """
    return in_toml(read(form, content), form, source=source)
