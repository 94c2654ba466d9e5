"""Names within programs to copy: each is a literal of its language."""

from __future__ import annotations

import json
import shlex
from urllib.parse import quote

from django import template

register = template.Library()


@register.filter
def literal(text: str) -> str:
    """A string of Python, JavaScript and Java."""
    return json.dumps(text)


@register.filter
def in_shell(text: str) -> str:
    """A word of a shell."""
    return shlex.quote(text)


@register.filter
def in_path(text: str) -> str:
    """A part of a URL's path."""
    return quote(text, safe="")
