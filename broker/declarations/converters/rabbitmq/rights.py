"""Permissions of RabbitMQ's users, as authorities to be granted."""

from __future__ import annotations

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.definitions import (
    DefinitionRow,
    RabbitDefinitions,
)
from broker.declarations.converters.rabbitmq.erlang_patterns import patterns_of

RIGHTS = {"read": ["get", "browse", "inquire"], "write": ["put"]}


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
    user = row.text("user")
    for right, granted in RIGHTS.items():
        expression = row.text(right, "")
        patterns = patterns_of(expression)
        for pattern in patterns or ():
            found.grant(f"user:{user}", given.name(row, pattern), granted, row.path)
        if patterns is None:
            found.parts.name(
                f"The user may {right} what matches {expression!r}, which no pattern"
                " here can say. Grant it for each address and queue.",
                *row.parts(right),
            )
        if patterns == []:
            found.parts.default(*row.parts(right))
    if not any(patterns_of(row.text(right, "")) for right in RIGHTS):
        found.parts.default(*row.parts("user", "vhost"))
    if row.text("configure", "") in ("", "^$"):
        found.parts.default(*row.parts("configure"))
    else:
        why = "Who may create queues is a permission of Django here (docs/rights.md)."
        found.parts.name(why, *row.parts("configure"))
