"""Days of a broker that loses messages, by its own engine, always the same; and of
links, which it does not run, but writes down what they do."""

from __future__ import annotations

from random import Random

from broker import operations
from broker.bridges.books import Outcome
from broker.models import AddressSetting, Operation
from broker.operations import Chosen
from broker.operations.single_edit import Edit, plan_edit
from broker.queueing import delayed
from broker.queueing.put import put_many
from broker.settlement import expiry
from broker.transactions.scope import UnitOfWork
from tests.broker import ordering
from tests.broker.bridges.carrying import bring, carry, take
from tests.broker.dying import back_out, on, operator
from tests.dashboards.histories import at, last_xid, order, undo
from tests.dashboards.journal import until_final
from tests.make import make_messages, make_queue, make_setting

Kind = Operation.Kind
HOURS = 60
ERRORS = (
    "no such customer 17",
    "no such customer 18",
    "the connection to the data base timed out after 30 s",
    "the connection to the data base timed out again after 31 s",
    "disk full",
)
DEAD = (Outcome.MESSAGE_EXPIRED, Outcome.SEND_FAILURE)
WAYS = (Kind.RESUBMIT, Kind.RESUBMIT, Kind.RESUBMIT, Kind.REMOVE, Kind.MOVE)


def make_losses(hours: int = HOURS, times: int = 1) -> None:
    """From noon on, every two hours: put, work, wake, expire, and clear some.

    Args:
        hours: for how long; some three messages an hour are put.
        times: so many times as many at once.
    """
    draw = Random(7)
    ordering.make_map()
    make_queue("bills")
    make_setting("bills", dead_letter_address="DLA", expiry_address="EXPIRY")
    AddressSetting.objects.filter(match="orders").update(
        max_delivery_attempts=3, redelivery_delay_ms=90 * 60_000
    )
    AddressSetting.objects.filter(match="bills").update(max_delivery_attempts=1)
    make_queue("out")
    make_queue("shipped")
    make_queue("imq.bridge.jms.dmq")
    ways = Random(11)
    for hour in range(0, hours, 2):
        minute = hour * 60
        work(draw, minute, times)
        transfer(ways, minute + 40, times)
        if hour % 6 == 4:
            clear(draw, minute + 30, times)
    until_final(last_xid())


def work(draw: Random, minute: int, times: int) -> None:
    def some(least: int, most: int) -> int:
        return times * draw.randint(least, most)

    delayed.wake_due(limit=100 * times, now=at(minute))
    put_many(make_messages(some(2, 5)), now=at(minute + 1))
    put_many(make_messages(some(0, 2), "bills"), now=at(minute + 2))
    put_many(make_messages(times, expires_at=at(minute + 150)), now=at(minute + 3))
    for n, queue in enumerate(("orders", "orders", "bills")):
        error = draw.choice(ERRORS)
        back_out(queue, limit=some(1, 3), error=error, at=minute + 5 + n)
        accept(queue, some(0, 3), minute + 10 + n, held=draw.randint(1, 200))
    expiry.expire(limit=100 * times, now=at(minute + 20))


def accept(queue: str, limit: int, minute: int, *, held: int) -> None:
    """Get some, and be done after a while; sometimes on the day after."""
    if limit:
        work = UnitOfWork(actor="clerk", now=at(minute))
        work.get(queue, limit)
        work.now = at(minute + held / 1000)
        work.commit()


def transfer(draw: Random, minute: int, times: int) -> None:
    """What two links do: one from a queue here to another, one from elsewhere."""
    put_many(make_messages(3 * times, "out"), now=at(minute))
    for n in range(3):
        now, took = at(minute + n), draw.randint(1, 90_000)
        outcome = draw.choice(list(Outcome))
        if draw.random() < 0.4:
            changed = draw.random() < 0.5
            carry("out", limit=times, now=now, latency_ms=took, transformed=changed)
        else:
            take("out", times, now=now, latency_ms=took, outcome=outcome)
    now, link = at(minute + 4), "shop/returns-in"
    bring(now=now, link=link, latency_ms=draw.randint(1, 9_000))
    why = draw.choice(DEAD)
    bring("imq.bridge.jms.dmq", now=now, link=link, role="dead", outcome=why)


def clear(draw: Random, minute: int, times: int) -> None:
    """What an operator does about some of the dead letters."""
    letters = on("DLQ")
    some = tuple(draw.sample(letters, min(len(letters), times * draw.randint(1, 4))))
    if not some:
        return
    way = draw.choice(WAYS)
    argument = "review" if way == Kind.MOVE else ""
    chosen = Chosen(queue="DLQ", ids=some)
    done = order(way, argument, chosen=chosen, now=at(minute))
    if draw.random() < 0.2:
        undo(done, now=at(minute + 5))
    elif left := on("DLQ"):
        edited = plan_edit(operator(), left[0], "DLQ", Edit(body=b"better"))
        operations.start(edited.pk, now=at(minute + 6))
