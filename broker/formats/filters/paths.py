"""Paths to values in JSON bodies, as filters write them: ``customer.id``,
``items.0.sku``, ``items[].sku``.

The steps are between dots. A step is the name of a member, in quotes if other signs are
in it, or the number of an element, from 0. ``[]`` after a step is any element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

Step: TypeAlias = str | None  # None: any element of an array
Steps: TypeAlias = tuple[Step, ...]

ANY = "[]"
PIECE = re.compile(r'"(?:[^"\\]|\\.)*+"|\.|(?:\[\])+|[^".\[\]]+|[\[\]]', re.S)
BARE = re.compile(r"[\w/@$#+=-]+")


def read(text: str) -> Steps:
    """The steps of a path.

    Raises:
        ValueError: it is no path; with the reason.
    """
    steps: list[Step] = []
    name: str | None = None  # of the step that is being read
    is_open = True  # whether a name may begin or go on
    for piece in PIECE.findall(text):
        if piece == ".":
            if is_open and name is None:
                break
            steps += [name] if name is not None else []
            name, is_open = None, True
        elif piece.startswith(ANY):
            steps += [name] if name is not None else []
            steps += [None] * (len(piece) // len(ANY))
            name, is_open = None, False
        elif not is_open or piece in "[]":
            raise ValueError("the path has [] at the end of a step only: items[].sku")
        else:
            name = (name or "") + unquoted(piece)
    if name is not None:
        steps.append(name)
    elif is_open or not steps:
        raise ValueError("name each step of the path, as in body.customer.id:4711")
    return tuple(steps)


def unquoted(text: str) -> str:
    """A part of a name; quotes are taken away."""
    if not text.startswith('"'):
        return text
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.S)


def write(steps: Iterable[Step]) -> str:
    """The text of a path; reading it gives equal steps."""
    text = ""
    for step in steps:
        if step is None:
            text += ANY
        else:
            text += f".{written(step)}" if text else written(step)
    return text


def written(name: str) -> str:
    """The name of a step, in quotes if it needs them."""
    if BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
