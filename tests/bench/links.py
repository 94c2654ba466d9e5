"""How fast links carry, beside RabbitMQ's shovel and the engine's own cycle.

A link is driven by the loop of its runner, in this process. Of each run the first
messages warm up, and are not in the figure; nor is what connecting takes. After each
run everything at the target is read, and must be what was put at the source, in its
order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median

from tests.bench import ground, machine, report
from tests.bench.aligned import aligned
from tests.bench.link_cells import (
    BYTES,
    CYCLE,
    MANY,
    ROUNDS,
    SOURCE,
    TARGET,
    WARM,
    Work,
    here,
)
from tests.bench.link_peers import (
    a_rabbitmq,
    another_backout,
    with_another,
    with_rabbitmq,
)
from tests.make import make_queue

HEAD = ("work", "batch", "messages/s", "against", "ratio", "of runs", "target", "")
TITLE = "Bridge links"
PROSE = """\
Written by `make bench ARGS="--links --write"`. Durable messages of {bytes:,} bytes,
{count:,} a run, {singly:,} one at a time, of which the first {warm:,} warm up. Each
line is the median of {rounds} runs, and so are the ratios, each to the run of the same
round. A link is driven by its runner's loop, in one process with one thread. After each
run all that is at the target is read, and is what was put, in its order, once.

```
{table}
```

- **shovel**: RabbitMQ's own, from one queue to another of the node that the links use,
  `on-confirm`; its batch is its prefetch. It runs inside RabbitMQ, and parses no
  message. Links with RabbitMQ have no transactions; each batch is confirmed at its
  target, and committed or acknowledged at its source, before the next one.
- **the engine's cycle**: put, get and accept in one process, three commits a batch,
  with no link around. A link does as much, and writes the journal of what it carried.
- **another Backout**: a web process with a database of its own on the same server. The
  link is transacted: each batch is prepared there, decided here, and committed there.

Where the time goes, by a profile of one run. In one database a link waits as long for
PostgreSQL as the cycle does, and works longer in Python: it makes each delivery a
message of its own, and journals both ends. To RabbitMQ it waits for the confirms of a
batch before it gets the next one. With another Backout a batch takes one request (out)
or two (in), each of which passes all of Django there; the request also commits the
batch before. Each message is encoded and decoded once more on its way, and out, the
other Backout puts it twice: the prepare tries the commit, and rolls it back.

{machine}"""


def measure(
    say: Callable[[str], None], *, write: bool = False, count: int = MANY
) -> None:
    """Print the table; on request, write it."""
    logging.getLogger("broker").setLevel(logging.WARNING)
    say("Making a database, another Backout, and a RabbitMQ")
    with ground.own_database(), ExitStack() as stack:
        for queue in (SOURCE, TARGET, CYCLE):
            make_queue(queue)
        other = stack.enter_context(another_backout())
        node = stack.enter_context(a_rabbitmq())
        described = machine.describe()
        works = [*here(), *with_rabbitmq(node), *with_another(other)]
        rates: dict[tuple[str, int], list[float]] = {}
        for number in range(ROUNDS):
            for work in works:
                say(f"Round {number + 1}: {work.name}, {work.batch}")
                ground.clear()
                ground.settle_down()
                rates.setdefault((work.name, work.batch), []).append(
                    work.run(work.messages(count))
                )
        described.append(machine.load())
        text = aligned([HEAD, *(line(work, rates) for work in works)])
    print("", *described, "", text, sep="\n")
    if write:
        said = PROSE.format(
            table=text,
            machine="\n".join(f"- {one}" for one in described),
            bytes=BYTES, count=count, warm=WARM, rounds=ROUNDS,
            singly=works[0].messages(count),
        )  # fmt: skip
        report.write_part(TITLE, said)


def line(work: Work, rates: dict[tuple[str, int], list[float]]) -> tuple[str, ...]:
    mine = rates[work.name, work.batch]
    rate = f"{median(mine):,.0f}"
    if work.against is None:
        return (work.name, f"{work.batch}", rate, "", "", "", "", "")
    theirs = rates[work.against]
    ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
    ratio = median(ratios)
    return (
        work.name,
        f"{work.batch}",
        rate,
        work.against[0],
        f"{ratio:.2f}",
        report.spread(ratios),
        "" if work.least is None else f"≥ {work.least}",
        "" if work.least is None else report.verdict(ratio, work.least),
    )
