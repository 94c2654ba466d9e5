"""Queries: what a person or a program may read, declared once for REST and commands.

    @declared_query("broker.view_queue")
    def list_consumers(actor: Principal, request: ListConsumers) -> Consumers:
        \"\"\"Stopped queues, and ConnectionConsumers that run.\"\"\"

They are to reading what acts are to orders: a request whose fields are checked alike at
each door, and an answer that is the JSON of both. A query changes nothing. Pages call
what queries call, as they show more.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from django.core.exceptions import PermissionDenied

from broker.acts.checking import find_faults
from broker.acts.declaring import ActField, Holds, fields_of
from broker.errors.acts import InvalidRequest
from broker.security.authorities import Principal
from console.edges.permissions import may

Answer = TypeVar("Answer")
Row = TypeVar("Row")
Cursor = TypeVar("Cursor")

LARGEST = 2**63 - 1  # the largest number of an object
Number = Annotated[int, Holds("Its number.", least=0)]
After = Annotated[
    int, Holds("The number after which the page begins.", least=0, most=LARGEST - 1)
]
Limit = Annotated[int, Holds("The most rows to return.", least=1, most=200)]


@dataclass(frozen=True, slots=True)
class All:
    """The request of a query without fields."""


@dataclass(frozen=True, slots=True)
class DeclaredQuery:
    """A query."""

    name: str  # the name of the function, such as "list_consumers"
    sentence: str
    details: str  # further sentences, or empty
    request: type
    answer: type
    run: Callable[[Principal, Any], Any]
    permissions: tuple[str, ...]
    fields: tuple[ActField, ...]

    def __call__(self, actor: Principal, request: Any) -> Any:
        """Read what an actor may see.

        Raises:
            PermissionDenied: a permission is missing.
            InvalidRequest: a field is beyond its limits.
            BrokerError: an object is missing, or hidden from the actor.
        """
        for needed in self.permissions:
            if not may(actor, needed):
                raise PermissionDenied(f"The permission {needed} is missing.")
        if faults := list(find_faults(self.fields, request)):
            raise InvalidRequest(tuple(faults))
        return self.run(actor, request)


QUERIES: dict[str, DeclaredQuery] = {}  # all declared queries, by name


def declared_query(
    *permissions: str,
) -> Callable[[Callable[[Principal, Any], Any]], DeclaredQuery]:
    """Declare a query by the function that runs it, which is replaced."""

    def declare(run: Callable[[Principal, Any], Any]) -> DeclaredQuery:
        hints = get_type_hints(run)
        sentence, _, details = inspect.cleandoc(run.__doc__ or "").partition("\n\n")
        one = DeclaredQuery(
            name=run.__name__,
            sentence=" ".join(sentence.split()),
            details=" ".join(details.split()),
            request=hints["request"],
            answer=hints["return"],
            run=run,
            permissions=permissions,
            fields=fields_of(hints["request"]),
        )
        QUERIES[one.name] = one
        return one

    return declare


def build_answer(kind: type[Answer], source: object, **others: Any) -> Answer:
    """An answer from the fields that are given, and the attributes of an object."""
    names = {one.name for one in fields(cast(Any, kind))} - others.keys()
    return kind(**others, **{name: getattr(source, name) for name in names})


def page_of(
    found: list[Row], limit: int, cursor: Callable[[Row], Cursor]
) -> tuple[list[Row], Cursor | None]:
    """The rows of a page, and where the next page begins; None: it is the last one.

    Args:
        found: the rows; one more than the page has, if there are more.
        limit: the most rows of a page.
        cursor: where the page begins that follows a row.
    """
    part = found[:limit]
    return part, cursor(part[-1]) if len(found) > limit else None
