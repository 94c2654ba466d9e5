"""The English of marked texts, for what is stored, sent, or read by programs."""

from __future__ import annotations

from django.utils.translation import override


def english(text: object) -> str:
    """A text before its translation, whatever language is active.

    Args:
        text: a plain text, or a lazy translation: a label or a help text of a model.
    """
    if isinstance(text, str):
        return text
    with override(None):
        return str(text)
