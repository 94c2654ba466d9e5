"""Files of other brokers as ``backout.toml``. What cannot be expressed is a comment at
its beginning, one sentence for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker.declarations.converters import artemis, mqsc, rabbitmq
from broker.declarations.converters.converted import Converted
from broker.declarations.documents import write
from broker.errors.settings import WrongSettings

FORMS: Mapping[str, Callable[[str], Converted]] = {
    "rabbitmq": rabbitmq.convert,
    "artemis": artemis.convert,
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
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongSettings("", f"It is not UTF-8: {error}.") from None
    return FORMS[form](text)


def in_toml(found: Converted, form: str, *, source: str) -> str:
    """What was read, as ``backout.toml``; ``source`` is the file's name."""
    head = f"Converted from {source} ({form}). {found.parts.counts}"
    comments = found.comments
    if comments:
        head += "\nWhat has no equal here:"
    return write(found.declarations, notes=[head, *(f"- {one}" for one in comments)])


def convert(form: str, content: bytes, *, source: str) -> str:
    """A file as ``backout.toml``.

    Raises:
        WrongSettings: it is not of this form.
    """
    return in_toml(read(form, content), form, source=source)
