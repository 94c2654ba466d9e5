"""Dispositions: states of many deliveries in one frame.

Source: AMQP 1.0, part 2, section 2.7.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoint import Endpoint
from broker.amqp.protocol.types.serial_numbers import HALF, MASK


def ranges(ids: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each run of consecutive ids, in order.

    Args:
        ids: delivery ids of one direction of a session, in any order, all within
            2**31; they are sorted in place.
    """
    sort(ids)
    first = last = ids[0]
    for number in ids:
        if number not in (last, (last + 1) & MASK):
            yield first, last
            first = number
        last = number
    yield first, last


def sort(ids: list[int]) -> None:
    ids.sort()
    if ids[-1] - ids[0] >= HALF:  # the delivery ids wrap around zero
        ids.sort(key=lambda number: (number + HALF) & MASK)


def within(held: dict[int, Delivery], first: int, last: int) -> list[Delivery]:
    """The held deliveries of a range of ids; loops over the shorter of range and
    ``held``."""
    count = ((last - first) & MASK) + 1
    if count <= len(held):
        numbers = ((first + step) & MASK for step in range(count))
        return [held[number] for number in numbers if number in held]
    return [one for one in held.values() if (one.id - first) & MASK < count]


def by_endpoint(deliveries: Iterable[Delivery]) -> dict[Endpoint, list[Delivery]]:
    found: dict[Endpoint, list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault(delivery.endpoint, []).append(delivery)
    return found


def forget(held: dict[int, Delivery], deliveries: Iterable[Delivery]) -> None:
    """Mark deliveries as settled, and remove them from session and endpoints."""
    for delivery in deliveries:
        delivery.settled = True
        held.pop(delivery.id, None)
        delivery.endpoint.unsettled.pop(delivery.id, None)
