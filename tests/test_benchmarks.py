"""The bench says what it measured: tables, days beside each other, and quotes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bench import cells, door, handlers, link_cells, quotes, report, runs
from tests.bench.clients import Slice
from tests.bench.figures import Figure
from tests.bench.handlers import Drain
from tests.bench.measured import NOT, Measured, MissingError
from tests.bench.meters import Spent, is_shared, together
from tests.bench.quotes import Block, Sentence
from tests.bench.slices import QUICK, Result, alone, beside
from tests.bench.workloads import WORKLOADS
from tests.harness.processor import worked_s

UNITS = "ms|s|%|MB|GB|a second"
MEASURED = re.compile(rf"\d{{1,3}}(?:,\d{{3}})+|\d+\.\d+|\d+(?= (?:{UNITS})(?!\w))")
# Settings, limits, versions and assumptions: no figures that somebody measured.
LIMITS = {
    "comparison.md": {"10,000", "1.0", "0.0"},
    "sizing.md": {
        *("1,000", "86,400", "864,000", "8,640,000", "1,024", "10,240"),
        *("1", "2", "10", "20", "100", "256"),
    },
}


def text_of(page: str) -> str:
    return (quotes.DOCS / page).read_text()


def here() -> Measured:
    return Measured(text_of("benchmarks.md"))


@pytest.mark.parametrize("page", quotes.PAGES)
def test_pages_quote_what_was_measured(page: str) -> None:
    """If not: ``make bench ARGS=--quotes``."""
    assert quotes.filled(page, text_of(page), here()) == text_of(page)


@pytest.mark.parametrize("page", quotes.PAGES)
def test_pages_have_no_figure_beside_those(page: str) -> None:
    left = text_of(page)
    for one in quotes.PAGES[page]():
        left = one.pattern.sub("", left)
    assert set(MEASURED.findall(left)) - LIMITS[page] == set()


def test_a_sentence_takes_new_figures_wherever_its_lines_break() -> None:
    sentence = Sentence("it takes {} ms, or {} s", [lambda _: "3", lambda _: "1,004.5"])
    assert sentence.filled("So it\ntakes 1.50 ms, or\n  77 s.", Measured("")) == (
        "So it\ntakes 3 ms, or\n  1,004.5 s."
    )
    with pytest.raises(ValueError, match="it takes"):
        sentence.filled("It does not.", Measured(""))


def test_a_table_between_comments_is_written_whole() -> None:
    block = Block("Speed", lambda _: "| new |")
    text = "a\n<!-- Speed, by make bench -->\n| old |\n<!-- Speed -->\nb"
    new = text.replace("| old |", "\n| new |\n")
    assert block.filled(text, Measured("")) == new
    assert block.filled(new, Measured("")) == new
    with pytest.raises(ValueError, match="Speed"):
        block.filled("nothing", Measured(""))


def some_slices(rate: float, client_s: float, server_s: float) -> list[Slice]:
    return [Slice(int(rate), 1.0, Spent(client_s, server_s, 1000.0)) for _ in range(3)]


def some_results(ours: float = 200.0) -> list[Result]:
    mine, floor = some_slices(ours, 0.1, 0.1), some_slices(400, 0.1, 0.1)
    theirs = some_slices(100, 0.1, 0.1)
    return [
        alone(cells.FLOOR, 1, floor),
        *(beside(work, 1, mine, cells.FLOOR, floor) for work in report.CHARTED),
        beside(cells.CYCLE, 1, mine, "PGMQ", theirs),
        beside(cells.CYCLE, 1, mine, "RabbitMQ", some_slices(100, 0.1, 0)),
    ]


def test_a_ratio_by_processor_needs_both_sides_metered() -> None:
    *_, pgmq, rabbit = some_results()
    assert (pgmq.ratio, pgmq.processor) == (2, 2)
    assert (rabbit.ratio, rabbit.processor) == (2, None)


def test_a_server_that_clients_share_is_metered_once() -> None:
    spent = [Spent(1, 5, 7), Spent(2, 6, 8)]
    assert together("cycle", spent) == Spent(3, 11, 8)
    assert together("rabbit_cycle", spent) == Spent(3, 6, 8)
    assert {name for name in WORKLOADS if is_shared(name)} == {
        *("rabbit_cycle", "rabbit_die"),
    }


def test_figures_are_read_as_they_are_written() -> None:
    figures = [
        Figure("put, 1 under way", 7.5, "ms"),
        Figure("joined, 1 at once", 9, "messages/s", "Celery", 1.5),
        Figure("joined, 1 at once: processor", 9, "µs", "Celery", 0.5),
    ]
    tables = report.tables(some_results(), figures)
    found = Measured("".join(f"```\n{one}\n```\n" for one in tables.values()))
    assert found.rate(cells.CYCLE, 1) == "200"
    assert found.ratios(cells.CYCLE, 1, "PGMQ") == "2.00 (2.00)"
    assert found.ratios(cells.CYCLE, 1, "RabbitMQ") == "2.00"
    assert found.ratios(cells.CYCLE, 100, "PGMQ") == NOT
    assert found.cost_us(cells.CYCLE, 1) == pytest.approx(1000)
    assert found.value("put, 1 under way") == "7.50"
    assert found.pair_of("joined, 1 at once", "Celery") == "1.50 (0.50)"
    with pytest.raises(MissingError, match="nobody"):
        found.rate("nobody", 1)


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(report, "RUNS", tmp_path / "benchmarks")
    monkeypatch.setattr(quotes, "write", lambda: None)
    return tmp_path


def write(day: str, monkeypatch: pytest.MonkeyPatch, ours: float) -> str:
    monkeypatch.setattr("tests.bench.report.time.strftime", lambda _: day)
    figures = [Figure("undo", 1, "ms", "before", 3.0)]
    machine = [f"cores of {day}"]
    report.write(
        some_results(ours), figures, machine, clients="1 client", **vars(QUICK)
    )
    return report.PAGE.read_text()


def test_the_last_two_days_stand_beside_each_other(
    pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write("2026-11-28", monkeypatch, 50)
    assert "one run is stored, that of 2026-11-28" in text
    write("2026-11-29", monkeypatch, 100)
    report.write_part("Pages", "Fast ones.")
    text = write("2026-11-30", monkeypatch, 300)
    assert "cores of 2026-11-29" in text
    assert "2026-11-28" not in text
    lines = {re.sub(r"\s{2,}", "  ", line) for line in text.splitlines()}
    assert "put, get, accept  1  PGMQ  1.00  3.00  3.00  1.00  3.00  3.00" in lines
    assert "undo  before  3.00  3.00  1.00" in lines
    assert text.endswith("## Pages\n\nFast ones.\n"), "parts measured apart stay"


def test_a_second_run_of_a_day_replaces_the_first(
    pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("2026-11-30", monkeypatch, 100)
    write("2026-11-30", monkeypatch, 300)
    (run,) = runs.stored(report.RUNS)
    assert {one.against: one.ratio for one in run.ratios}["PGMQ"] == 3


def test_the_page_reads_what_drains_of_handlers_write() -> None:
    drains = {name: [Drain(300, 100)] for name in handlers.OURS}
    for peer in quotes.HANDLERS:
        drains |= {f"{peer}, {kind}": [Drain(100, 400)] for kind in quotes.KINDS}
    figures = [
        figure for several in (1, 2) for figure in handlers.compared(drains, several)
    ]
    words = handlers.PROSE.format(messages=9, bytes=9, rounds=9, cores=2)
    page = Measured(f"{words}\n```\n{report.table_of_figures(figures)}\n```\n")
    _, _, *lines = quotes.handlers(page).splitlines()
    assert len(lines) == len(quotes.HANDLERS) * len(quotes.KINDS)
    assert [line.count("| 3.00 (4.00)") for line in lines] == [2] * len(lines)
    assert "Not measured" in quotes.handlers(Measured(""))


def test_stolen_time_is_no_work() -> None:
    spent = {"user": 5.0, "system": 2.0, "idle": 9.0, "iowait": 1.0, "steal": 4.0}
    assert worked_s(spent) == 7
    assert worked_s(spent | {"guest": 3.0}) == 7, "it is in user, too"


def test_what_comes_in_batches_also_comes_one_by_one() -> None:
    assert cells.BATCHES[0] == cells.FAILING[0] == 1
    assert door.UNDER_WAY[0] == link_cells.BATCHES[0] == 1
    assert handlers.QUICK.messages >= 5_000, "fewer measure the start"
