"""One client, which works until it is killed, or until it meets an error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from random import Random

import django

QUEUE = "orders"
BATCHES = (1, 100)  # of consumers in turn
PUTS = 100  # in one transaction
GRAVEYARD = "graveyard"  # where messages go that have failed too often
FAILS = 50  # one in so many units of work is backed out
TABLES = """
CREATE TABLE sent (number bigint PRIMARY KEY);
CREATE TABLE handled (number bigint PRIMARY KEY);
CREATE SEQUENCE numbers"""
NEXT = "SELECT nextval('numbers') FROM generate_series(1, %s)"


class HandlerError(Exception):
    """What a consumer raises now and then."""


def produce(most: int) -> None:
    """Put numbered messages until there are ``most``."""
    from django.db import transaction  # noqa: PLC0415  settings are loaded by main

    from broker.queueing.put import NewMessage, put_many  # noqa: PLC0415

    while True:
        with transaction.atomic():
            numbers = note("sent", NEXT, PUTS)
            if numbers[-1] > most:
                transaction.set_rollback(True)
                return
            put_many([NewMessage(QUEUE, str(one).encode()) for one in numbers])


def consume(batch: int, fails: int) -> None:
    """Handle messages for ever; one in so many units of work fails."""
    from broker.client import unit_of_work  # noqa: PLC0415
    from broker.models import Queue  # noqa: PLC0415
    from broker.queueing import notifications  # noqa: PLC0415

    random = Random(os.getpid())
    queue_id = Queue.objects.get(name=QUEUE).pk
    while True:
        seen = notifications.version(queue_id)
        count = 0
        try:
            with unit_of_work(join=True) as work:
                got = work.get(QUEUE, limit=batch)
                count = len(got)
                numbers = [int(one.body) for one in got]
                note("handled", "SELECT unnest(%s::bigint[])", numbers)
                if random.randrange(fails) == 0:
                    raise HandlerError
        except HandlerError:
            continue
        if not count:
            notifications.wait(queue_id, seen)


def loop(fails: int) -> None:
    """Handle messages for ever in a consumer loop; one in so many fails. A number is
    noted before its message is accepted, so what was noted does not fail."""
    from broker.client import consumer  # noqa: PLC0415

    random = Random(os.getpid())
    with consumer(QUEUE) as deliveries:
        for delivery in deliveries:
            number = int(delivery.body)
            if random.randrange(fails) == 0 and not was_handled(number):
                deliveries.back_out(HandlerError())
            else:
                again = "SELECT %s::bigint ON CONFLICT (number) DO NOTHING"
                note("handled", again, number)


def was_handled(number: int) -> bool:
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM handled WHERE number = %s", [number])
        return bool(cursor.fetchall())


def note(table: str, numbers: str, parameter: int | list[int]) -> list[int]:
    """Insert numbers; a number that is there already is an error."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} {numbers} RETURNING number",
            [parameter],
        )
        return [number for (number,) in cursor.fetchall()]


ROLES: dict[str, Callable[..., None]] = {
    "produce": produce,
    "consume": consume,
    "loop": loop,
}


def main(arguments: Iterable[str]) -> None:
    role, *numbers = arguments
    django.setup()
    ROLES[role](*map(int, numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
