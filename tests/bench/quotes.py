"""What other pages quote of docs/benchmarks.md: each figure there is one that is here.

A sentence stands on its page; its figures are filled in. A table between two comments
is written whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.bench.measured import Measured

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURE = r"(\d[\d.,]*\d|\d)"
CYCLE, RABBIT = "put, get, accept", "RabbitMQ: publish, confirm, get, acknowledge"
DIE = "put, back out 3 times, dead letter"
LOOP = "put, consumer loop that fails 3 times, dead letter"
SPEED = (  # peer, what is compared, work, against
    (
        "procrastinate",
        "defer, fetch, finish, without its worker",
        CYCLE,
        "procrastinate",
    ),
    ("RabbitMQ", "publish, confirm, get, acknowledge, by py-amqp", CYCLE, "RabbitMQ"),
    ("RabbitMQ", "three failures and a dead letter", DIE, "RabbitMQ"),
    ("PGMQ", "send, read, delete", CYCLE, "PGMQ"),
    ("PGMQ", "send, read, archive", CYCLE, "PGMQ's archive"),
    ("PGMQ", "send", "put", "PGMQ"),
    ("PGMQ", "three failures and a dead letter", DIE, "PGMQ"),
    ("PGMQ", "the same, in a consumer loop", LOOP, "PGMQ"),
)
HANDLERS = ("Celery + Redis", "Celery + RabbitMQ")
KINDS = ("early", "late", "row")

Figure = Callable[[Measured], str]


@dataclass(frozen=True)
class Sentence:
    """Words of a page, with {} for each figure."""

    words: str
    figures: Sequence[Figure]

    def filled(self, text: str, measured: Measured) -> str:
        """The page with these figures.

        Raises:
            ValueError: the page has no such sentence.
        """
        found = self.pattern.search(text)
        if found is None:
            raise ValueError(f"No page says: {self.words}")
        for number in reversed(range(len(self.figures))):
            start, end = found.span(number + 1)
            text = text[:start] + self.figures[number](measured) + text[end:]
        return text

    @property
    def pattern(self) -> re.Pattern[str]:
        parts = [r"\s+".join(map(re.escape, one.split(" "))) for one in self.parts]
        return re.compile(FIGURE.join(parts))

    @property
    def parts(self) -> list[str]:
        return self.words.split("{}")


@dataclass(frozen=True)
class Block:
    """A table that a page has between two comments."""

    name: str
    table: Callable[[Measured], str]

    def filled(self, text: str, measured: Measured) -> str:
        """
        Raises:
            ValueError: the page has no such comments.
        """
        if not self.pattern.search(text):
            raise ValueError(f"No page has a table of {self.name}")
        table = self.table(measured)
        first, last = self.comments
        return self.pattern.sub(lambda _: f"{first}\n\n{table}\n\n{last}", text)

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(".*".join(map(re.escape, self.comments)), re.S)

    @property
    def comments(self) -> tuple[str, str]:
        return f"<!-- {self.name}, by make bench -->", f"<!-- {self.name} -->"


def speed(measured: Measured) -> str:
    """By time, and by processor in brackets."""
    heads = ("one by one", "8 clients, one by one", "batches of 100")
    lines: list[tuple[str, ...]] = [("peer", "its work", *heads)]
    for peer, beside, work, against in SPEED:
        cells = (
            measured.ratios(work, 1, against),
            measured.ratios(f"{work}, 8 clients", 1, against),
            measured.ratios(work, 100, against),
        )
        lines.append((peer, beside, *cells))
    for way in ("in", "out", "in and out at once"):
        one, many = (
            measured.ratio_of(f"AMQP, {way}, {ahead} under way", "RabbitMQ's AMQP 1.0")
            for ahead in (1, 400)
        )
        cells = (one, "–", f"{many}, 400 under way")
        lines.append(("RabbitMQ", f"AMQP 1.0, {way}", *cells))
    return markdown(lines)


def handlers(measured: Measured) -> str:
    """One process, and one for each core."""
    if measured.cores is None:
        return 'Not measured yet: `make bench ARGS="--handlers --write"`.'
    heads = ("one process", "a process for each core")
    lines: list[tuple[str, ...]] = [("peer", "handler or task", *heads)]
    for peer in HANDLERS:
        for kind in KINDS:
            ours = "joined_row" if kind == "row" else "joined"
            cells = [
                measured.pair_of(f"{ours}, {several} at once", f"{peer}, {kind}")
                for several in (1, measured.cores)
            ]
            lines.append((peer, WORDS[kind], *cells))
    return markdown(lines)


WORDS = {
    "early": "does nothing; the task is acknowledged early",
    "late": "does nothing; the task is acknowledged late",
    "row": "writes a row; the task is acknowledged late",
}


def markdown(lines: Sequence[tuple[str, ...]]) -> str:
    rows = [lines[0], ("---",) * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(one)} |" for one in rows)


def rate(work: str, batch: int) -> Figure:
    return partial(Measured.rate, work=work, batch=batch)


def whole(work: str) -> Figure:
    return lambda measured: f"{float(measured.value(work).replace(',', '')):,.0f}"


def cost_ms(batch: int) -> Figure:
    return lambda measured: f"{measured.cost_us(CYCLE, batch) / 1000:.2f}"


def share(rate: int) -> Figure:
    """Of one core, at so many messages a second, one by one."""
    return lambda measured: f"{measured.cost_us(CYCLE, 1) * rate / 1e4:.0f}"


def cell(title: str, row: str, column: int = 1) -> Figure:
    return lambda measured: measured.cell(title, row, column)


def comparison() -> Iterator[Sentence | Block]:
    yield Sentence(
        "{} a second for one client that puts, gets and accepts one at a time;"
        " RabbitMQ {}. In batches of 100 it is {} and {}. By AMQP {} in and {} out,",
        (
            *(rate(CYCLE, 1), rate(RABBIT, 1), rate(CYCLE, 100), rate(RABBIT, 100)),
            whole("AMQP, in, 400 under way"),
            whole("AMQP, out, 400 under way"),
        ),
    )
    yield Sentence(
        "a live consumer's p99 is {} ms,",
        [lambda one: one.value("a live consumer's p99, nothing beside it")],
    )
    yield Sentence(
        "with {} messages a second to another Backout in batches of 100, {} in",
        [rate("Backout → another Backout", batch) for batch in (100, 500)],
    )
    yield Sentence(
        "pages are measured with {}; the list of queues then takes {} ms (p50) and {}",
        [
            lambda one: one.found(r"(\S+) queues, \S+\s+operations"),
            lambda one: one.page("console:queues")[2],
            lambda one: one.page("console:queues")[4],
        ],
    )
    yield Block("Speed", speed)
    yield Block("Handlers", handlers)


def sizing() -> Iterator[Sentence | Block]:
    for batch in (1, 10, 100, 1000):
        rates = [rate(work, batch) for work in ("put", "get, accept", CYCLE)]
        yield Sentence(
            f"| {batch:,} | {{}} | {{}} | {{}} | {{}} ms |", [*rates, cost_ms(batch)]
        )
    yield Sentence(
        "take about {} % of one core, and 1,000 a second {} %",
        [share(100), share(1000)],
    )
    yield Sentence(
        "machine of these figures needs {} ms",
        [lambda one: one.found(r"a commit waits (\S+) ms")],
    )
    yield from disk()
    yield Sentence(
        "after {} messages the tables of entries, claims and units of work had {} MB,"
        " and {} MB while",
        [
            lambda one: one.found(r"hot tables after (\S+) messages  "),
            lambda one: one.found(r"hot tables after \S+ messages +(\S+) +MB"),
            lambda one: one.found(r"messages, a snapshot held open +(\S+) +MB"),
        ],
    )
    yield from memory()


def disk() -> Iterator[Sentence]:
    """Bytes of a message, and what follows of them for a load."""
    title = "Bytes on the disk"
    for body in ("512", "1,024", "10,240"):
        figures = [cell(title, body, column) for column in range(1, 6)]
        yield Sentence(f"| {body} |" + " {} |" * 5, figures)
    for a_second in (1, 10, 100):
        every = 86_400 * a_second
        week = " 20 GiB, the limit below |" if a_second == 100 else " {} GB |"
        figures = [gigabytes(every, (1, 2)), gigabytes(7 * every, (1,))]
        yield Sentence(
            f"| {a_second} a second | {every:,} | {{}} GB |{week} {{}} GB |",
            [
                *(figures[:1] if a_second == 100 else figures),
                gigabytes(30 * every, (2,)),
            ],
        )


def gigabytes(messages: int, columns: Sequence[int]) -> Figure:
    def of(measured: Measured) -> str:
        cells = [
            measured.cell("Bytes on the disk", "1,024", column) for column in columns
        ]
        total = sum(float(one.replace(",", "")) for one in cells) * messages / 1e9
        return f"{total:.0f}" if total >= 10 else f"{total:.2g}"

    return of


def memory() -> Iterator[Sentence]:
    title = "Memory and idle load"
    for words, row in (
        ("Valkey included | {} MB", "memory"),
        ("processor when idle | {} %", "processor when idle"),
        ("with a new database | {} s", "first page, with a new database"),
        ("first page, later | {} s", "first page, later"),
        ("processor time of `backout queues` | {} s", "processor time of"),
        ("Spark included | {} MB", "disk: all that"),
        ("Django and psycopg | {} MB", "disk: the broker alone"),
        ("`console`, beside those | {} MB", "disk: the extra `console`"),
        ("`embedded`, beside those | {} MB", "disk: the extra `embedded`"),
        ("its dispatcher | {} MB", "memory of the broker alone"),
    ):
        yield Sentence(words, [cell(title, row)])
    yield Sentence(
        "while a report runs | up to {} MB",
        [lambda one: one.most(r"^memory, MB +(\S+)")],
    )


PAGES = {"comparison.md": comparison, "sizing.md": sizing}


def filled(page: str, text: str, measured: Measured) -> str:
    """The page with the figures that were measured."""
    for one in PAGES[page]():
        text = one.filled(text, measured)
    return text


def write() -> None:
    measured = Measured((DOCS / "benchmarks.md").read_text())
    for page in PAGES:
        text = (DOCS / page).read_text()
        (DOCS / page).write_text(filled(page, text, measured))
