"""What PostgreSQL makes of a selector, for tests to compare with Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from broker.formats.selectors import Selector, parse

PREFIXES = ("hyphenated_props:", "no_hyphenated_props:")
MATCH = """
    SELECT jsonb_path_match(asked.document::jsonb, asked.path::jsonpath, '{}', true)
    FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS asked (document, path, n)
    ORDER BY n
"""


def in_postgresql(asked: Sequence[tuple[str, Mapping[str, Any]]]) -> list[bool | None]:
    """What each selector's paths say of the document with it; each must have one.

    A path tells true from all else; that of the opposite tells false.
    """
    paths = [path_of(parse(text)) for text, _ in asked]
    opposites = [path_of(parse(opposite(text))) for text, _ in asked]
    documents = [json.dumps(document) for _, document in asked]
    with connection.cursor() as cursor:
        cursor.execute(MATCH, [documents * 2, paths + opposites])
        said = [value for (value,) in cursor.fetchall()]
    assert None not in said, "a path is never unknown"
    trues, falses = said[: len(asked)], said[len(asked) :]
    assert not any(t and f for t, f in zip(trues, falses, strict=True))
    return [
        True if true else False if false else None
        for true, false in zip(trues, falses, strict=True)
    ]


def opposite(text: str) -> str:
    """The selector that is true where this one is false."""
    prefix = next(filter(text.startswith, PREFIXES), "")
    return f"{prefix}NOT ({text.removeprefix(prefix)})"


def path_of(selector: Selector) -> str:
    assert selector.path is not None, selector.text
    return selector.path
