"""The values of own columns, as a person may see them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import BinaryField, Case, F, Func, IntegerField, When
from django.http import HttpRequest

from broker.acts.declaring import Holds
from broker.errors.acts import InvalidRequest
from broker.formats.filters import paths
from broker.formats.mq.coding import coding_of
from broker.formats.text import read
from broker.models import Message
from broker.security import authorities, redaction
from broker.security.authorities import GrantedAuthorities, Principal
from broker.security.redaction import Veil
from console.bodies.own_columns import (
    BODY,
    COOKIE,
    MOST,
    PROPERTY,
    Choice,
    OwnColumn,
)
from console.edges import permissions

BROWSE = "broker.browse_queue"
MOST_BYTES = 64 * 1024  # a larger body is not read for a list
LONGEST = 500  # most characters of a value; the page cuts further
SAMPLE = 10  # messages that are read for suggestions
SUGGESTIONS = 50
DEEPEST = 4  # most steps of a suggested path
NO_VALUE = "–"

Texts = Annotated[
    tuple[str, ...],
    Holds(
        "Own columns: properties.tenant, body.customer.id; need the authority browse.",
        most=MOST,
        options=("-c", "--columns"),
    ),
]
Places = Sequence[tuple[int, str]]  # message id, and the name of its queue
Contents = dict[int, tuple[Mapping[str, Any], Any]]


@dataclass(frozen=True, slots=True)
class OwnColumns:
    """The own columns of a list, as its page shows them."""

    columns: Sequence[tuple[str, OwnColumn]]  # each with where it was chosen
    cells: Mapping[int, Sequence[tuple[str, str]]]  # labels and values, by message id
    suggestions: Sequence[str]
    queue: str  # of the list; empty if it is of several


def of_list(request: HttpRequest, rows: Places, queue: str = "") -> OwnColumns | None:
    """The own columns of a page; None if the person may read nothing. One query, and
    those for masks.

    Args:
        request: with the choice of the person.
        rows: the messages of the page.
        queue: the queue of the list; empty if it is of several.
    """
    held = authorities.held_by(request.user)
    if not request.user.has_perm(BROWSE) or (queue and not held.on("browse", queue)):
        return None
    columns = Choice.of(request.COOKIES.get(COOKIE, "")).on(queue)
    readable = readable_of(rows if columns else rows[:SAMPLE], held)
    contents = contents_of(request.user, readable)
    cells = {
        message_id: [
            (one.label, value_of(one, contents.get(message_id)) or NO_VALUE)
            for _, one in columns
        ]
        for message_id, _ in rows
    }
    known = {column.text for _, column in columns}
    some = [contents[one] for one in readable[:SAMPLE] if one in contents]
    return OwnColumns(columns, cells, suggested(some, known), queue)


def values(
    user: Principal, rows: Places, texts: Sequence[str]
) -> dict[int, dict[str, str | None]]:
    """The values of columns by message id, for REST and commands; None: there is none,
    or the caller may not read it.

    Raises:
        InvalidRequest: a text is not a column.
    """
    try:
        columns = [OwnColumn.of(text) for text in texts]
    except ValueError as error:
        raise InvalidRequest((("columns", str(error)),)) from error
    held = authorities.held_by(user)
    may = permissions.may(user, BROWSE)
    contents = contents_of(user, readable_of(rows, held) if columns and may else [])
    return {
        one: {column.text: value_of(column, contents.get(one)) for column in columns}
        for one, _ in rows
    }


def readable_of(rows: Places, held: GrantedAuthorities) -> list[int]:
    return [message_id for message_id, queue in rows if held.on("browse", queue)]


def value_of(
    column: OwnColumn, content: tuple[Mapping[str, Any], Any] | None
) -> str | None:
    value = None if content is None else column.value(*content)
    return None if value is None else value[:LONGEST]


def contents_of(user: Principal, ids: Sequence[int]) -> Contents:
    """Properties and JSON of messages, masked for a user."""
    if not ids:
        return {}
    size = Func("body", function="octet_length", output_field=IntegerField())
    part = Case(
        When(size__lte=MOST_BYTES, then=F("body")),
        output_field=BinaryField(null=True),
    )
    rows = Message.objects.filter(pk__in=ids).annotate(size=size).annotate(part=part)
    veils = redaction.sight_of(user).veils(ids)
    return {
        key: (veils[key].properties(properties)[0], document(veils[key], *content))
        for key, properties, *content in rows.values_list(
            *("pk", "properties", "part", "content_type", "descriptor", "headers")
        )
    }


def document(
    veil: Veil,
    part: bytes | None,
    content_type: str,
    descriptor: Mapping[str, Any] | None,
    headers: bytes | None,
) -> Any:
    """What a body is as JSON, without what is masked; None if it is none, or larger
    than a list reads."""
    if part is None:
        return None
    body = bytes(part)
    chain = None if headers is None else bytes(headers)
    coding = coding_of(descriptor, content_type, chain, body)
    seen = veil.body(body, content_type, coding)
    if seen.is_withheld:
        return None
    try:
        text = read(seen.body, content_type, coding)
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def suggested(
    contents: Sequence[tuple[Mapping[str, Any], Any]], known: set[str]
) -> list[str]:
    """Columns that the first messages of a list have, by name."""
    found: set[str] = set()
    for properties, body in contents:
        found.update(PROPERTY + name for name in properties)
        found.update(BODY + paths.write(steps) for steps in leaves(body))
    return sorted(filter(is_column, found - known))[:SUGGESTIONS]


def is_column(text: str) -> bool:
    try:
        return OwnColumn.of(text).text == text
    except ValueError:
        return False


def leaves(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of values that are no objects or arrays."""
    if isinstance(value, dict) and len(above) < DEEPEST:
        for name, inner in value.items():
            yield from leaves(inner, (*above, name))
    elif above and not isinstance(value, dict | list):
        yield above
