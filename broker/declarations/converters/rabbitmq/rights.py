"""Permissions of RabbitMQ's users, as authorities to be granted."""

from __future__ import annotations

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.definitions import (
    DefinitionRow,
    RabbitDefinitions,
)
from broker.declarations.converters.rabbitmq.erlang_patterns import (
    NamePattern,
    patterns_of,
)
from broker.formats.wildcards import matches

RIGHTS = {"read": ["get", "browse", "inquire"], "write": ["put"]}
BY_NAME = (
    "A pattern for {!r} would match more of this file here than it does there, so what"
    " it matches is granted by name, if anything. Grant what is made later by name."
)


def convert_rights(given: RabbitDefinitions, found: Converted) -> None:
    for row in given.rows("permissions"):
        convert_permission(row, given, found)
    for row in given.rows("topic_permissions"):
        found.parts.name(
            "A right is for a queue or an address here, not for routing keys. Give each"
            " kind of message an address of its own.",
            row.path,
        )


def convert_permission(
    row: DefinitionRow, given: RabbitDefinitions, found: Converted
) -> None:
    is_granted = False
    for right, granted in RIGHTS.items():
        for pattern in convert_right(row, right, given, found):
            found.grant(f"user:{row.text('user')}", pattern, granted, row.path)
            is_granted = True
    if not is_granted:
        found.parts.default(*row.parts("user", "vhost"))
    if row.text("configure", "") in ("", "^$"):
        found.parts.default(*row.parts("configure"))
    else:
        why = "Who may create queues is a permission of Django here (docs/rights.md)."
        found.parts.name(why, *row.parts("configure"))


def convert_right(
    row: DefinitionRow, right: str, given: RabbitDefinitions, found: Converted
) -> list[str]:
    """The patterns to grant; a comment names rights that no pattern can express."""
    expression = row.text(right, "")
    patterns = patterns_of(expression)
    if patterns is None:
        found.parts.name(
            f"The user may {right} what matches {expression!r}, which no pattern"
            " here can say. Grant it for each address and queue.",
            *row.parts(right),
        )
        return []
    if not patterns:
        found.parts.default(*row.parts(right))
    patterns = [pattern_here(row, one, given) for one in patterns]
    meant, others = names_of(row, expression, given)
    if any(matches(pattern, name) for pattern in patterns for name in others):
        found.parts.name(BY_NAME.format(expression), *row.parts(right))
        return meant
    return patterns


def pattern_here(row: DefinitionRow, pattern: str, given: RabbitDefinitions) -> str:
    """The pattern for names of the virtual host of a permission, which has a prefix
    if others have what the file defines."""
    host = row.text("vhost", "/")
    return pattern if given.hosts == {host} or host == "/" else f"{host}.{pattern}"


def names_of(
    row: DefinitionRow, expression: str, given: RabbitDefinitions
) -> tuple[list[str], list[str]]:
    """The names here of the queues and exchanges that a permission is for, and of the
    others."""
    may, host = NamePattern.of(expression), row.text("vhost", "/")
    rows = [*given.exchanges, *given.queues]
    there = [one for one in rows if one.text("vhost", "/") == host]
    meant = {given.own_name(one) for one in there if may.matches(one.text("name"))}
    every = {given.own_name(one) for one in rows}
    return sorted(meant), sorted(every - meant)
