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


def convert(form: str, content: bytes, *, source: str) -> str:
    """A file as ``backout.toml``.

    Args:
        form: one of ``FORMS``.
        content: the file.
        source: its name, for a comment.

    Raises:
        WrongSettings: it is not of this form.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongSettings("", f"It is not UTF-8: {error}.") from None
    found = FORMS[form](text)
    head = f"Converted from {source} ({form})."
    notes = list(dict.fromkeys(found.notes))
    if notes:
        head += " What has no equal here:"
    return write(found.declarations, notes=[head, *(f"- {one}" for one in notes)])
