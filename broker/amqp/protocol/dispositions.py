"""What becomes of deliveries, said of many at once.

Source: AMQP 1.0, part 2, section 2.7.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker.amqp.protocol.delivery import Delivery, EndpointRef
from broker.amqp.protocol.types.serial_numbers import HALF, MASK


def ranges(ids: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each run of ids, in their order.

    Args:
        ids: of one direction of a session, in any order, all within 2**31; sorted in
            place.
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
    if ids[-1] - ids[0] >= HALF:  # they pass zero
        ids.sort(key=lambda number: (number + HALF) & MASK)


def within(held: dict[int, Delivery], first: int, last: int) -> list[Delivery]:
    """The deliveries of a range, in their order; at the cost of the fewer."""
    count = ((last - first) & MASK) + 1
    if count <= len(held):
        numbers = ((first + step) & MASK for step in range(count))
        return [held[number] for number in numbers if number in held]
    return [one for one in held.values() if (one.id - first) & MASK < count]


def by_endpoint(deliveries: Iterable[Delivery]) -> dict[EndpointRef, list[Delivery]]:
    found: dict[EndpointRef, list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault(delivery.endpoint, []).append(delivery)
    return found


def forget(held: dict[int, Delivery], deliveries: Iterable[Delivery]) -> None:
    """They are settled: the session and their endpoints hold them no longer."""
    for delivery in deliveries:
        delivery.settled = True
        held.pop(delivery.id, None)
        delivery.endpoint.unsettled.pop(delivery.id, None)
