"""Operations on the messages that filters find, from commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from broker.models import Operation
from broker.monitoring import visible_search
from broker.operations import Order, Sought
from broker.security.users import User
from console.operations import planning_options as planning


def work(
    user: User,
    order: Order,
    filters: Sequence[str],
    reason: str,
    errors: TextIO,
    *,
    does: bool,
) -> dict[str, Any]:
    """Plan an operation on the messages that filters find, or execute it."""
    search = visible_search.search(user, filters)
    chosen = Sought(search.filter, search.within)
    scope = f"messages by “{search.filter}”"
    return planning.do(
        user, planning.Work(order, chosen, scope, reason), errors, does=does
    )


def in_words(told: dict[str, Any]) -> str:
    """The expected or actual result of an operation, as text."""
    lines = [
        f"  {one['messages']:>9,}  {one['on'] or 'a queue that is gone'}"
        + (f" → {one['to']}" if one["to"] else "")
        for one in told["ways"]
    ]
    label = Operation.Kind(told["kind"]).label
    if told["operation"] is None:
        head = f"{told['messages']:,} messages to {label}. Nothing is done yet; --yes"
        return "\n".join([f"{head} does it.", *lines])
    head = (
        f"Operation {told['operation']}: {told['done']:,} of {told['messages']:,} done."
    )
    lines += [
        f"  {one['messages']:>9,}  skipped: {one['why']}" for one in told["why_skipped"]
    ]
    return "\n".join([head, *lines])
