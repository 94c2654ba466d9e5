"""Names of messages and queues in log records: the ids and names that people search
for.

Such records are rare and written for operators, so the cost of a query for the names
does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.conf import settings

from broker.formats.mq.descriptor import made_id
from broker.models import Message, Queue

SHOWN = 10  # most messages named in one record


def message(number: int, client_id: str | None) -> str:
    """The name of a message: the broker's number, and the JMSMessageID."""
    return f"{number} ({client_id or jms_id(number)})"


def jms_id(number: int) -> str:
    """The JMSMessageID of a message whose client gave no id."""
    return f"ID:{made_id(number, settings.BROKER_NAME).hex()}"


def messages(numbers: Collection[int]) -> str:
    """The names of stored messages, as by ``message``; the lowest numbers first."""
    shown = sorted(numbers)[:SHOWN]
    found = dict(Message.objects.filter(pk__in=shown).values_list("pk", "message_id"))
    return listed((message(one, found.get(one)) for one in shown), len(numbers))


def listed(names: Iterable[str], count: int) -> str:
    """Some names of messages as a text, and the number of the others."""
    more = count - SHOWN
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")


def queues(ids: Collection[int]) -> str:
    """Names of queues; for a deleted queue, its id."""
    names = dict(Queue.objects.filter(pk__in=ids).values_list("pk", "name"))
    return ", ".join(repr(names.get(one, one)) for one in sorted(ids))
