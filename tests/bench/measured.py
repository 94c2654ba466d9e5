"""docs/benchmarks.md, read: its tables by their heads, and single figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

NOT = "–"  # what was not measured
RESULTS = ["work", "batch", "messages/s"]
COSTS = ["work", "batch", "µs"]
FIGURES = ["work", "against", "ratio"]
PAGES = ["page", "times", "p50 ms"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
RATIO = re.compile(r"\d[\d,]*\.\d\d")


class MissingError(Exception):
    """The page has no such figure."""


@dataclass(frozen=True)
class Measured:
    """The text of the page."""

    text: str

    def rows(self, *head: str) -> Iterator[list[str]]:
        """Of all tables of text that begin with these columns."""
        for language, block in BLOCK.findall(self.text):
            if language:
                continue
            first, *lines = (split(line) for line in block.splitlines())
            if first[: len(head)] == list(head):
                yield from lines

    def row(self, head: list[str], *cells: str) -> list[str]:
        """The first that begins with these cells."""
        for row in self.rows(*head):
            if row[: len(cells)] == list(cells):
                return row
        raise MissingError(f"There is no row of {cells}.")

    def rate(self, work: str, batch: int) -> str:
        return self.row(RESULTS, work, f"{batch}")[2]

    def cost_us(self, work: str, batch: int) -> float:
        """Of the processor, client and server."""
        client, server = self.row(COSTS, work, f"{batch}")[3:5]
        return number(client) + number(server)

    def ratios(self, work: str, batch: int, against: str) -> str:
        """By time, and by processor where it was metered."""
        for row in self.rows(*RESULTS):
            if row[:2] == [work, f"{batch}"] and row[3:4] == [against]:
                by = row[6] if len(row) > 6 and RATIO.fullmatch(row[6]) else ""
                return f"{row[4]} ({by})" if by else row[4]
        return NOT

    def value(self, work: str) -> str:
        return self.row(FIGURES, work)[1]

    def ratio_of(self, work: str, against: str) -> str:
        for row in self.rows(*FIGURES):
            if row[0] == work and row[3:4] == [against]:
                return row[4]
        return NOT

    def pair_of(self, work: str, against: str) -> str:
        """By rate and by processor, of two rows."""
        rate = self.ratio_of(work, against)
        by = self.ratio_of(f"{work}: processor", against)
        return rate if by == NOT else f"{rate} ({by})"

    @property
    def cores(self) -> int | None:
        """Of the machine on which the handlers ran, if they did."""
        found = re.search(r"there\s+are\s+(\d+)\s+cores", self.text)
        return int(found[1]) if found else None

    def page(self, name: str) -> list[str]:
        return self.row(PAGES, name)

    def cell(self, title: str, row: str, column: int) -> str:
        """The figure of a table in Markdown, by the beginning of its row."""
        part = self.text.partition(f"## {title}\n")[2].partition("\n## ")[0]
        for line in part.splitlines():
            cells = [one.strip() for one in line.strip("|").split("|")]
            if line.startswith("|") and cells[0].startswith(row):
                return cells[column].split(" ")[0]
        raise MissingError(f"{title} has no row of {row}.")

    def found(self, pattern: str) -> str:
        found = re.search(pattern, self.text, re.M)
        if found is None:
            raise MissingError(f"There is no {pattern}.")
        return found[1]

    def most(self, pattern: str) -> str:
        """Of several such figures."""
        figures: list[str] = re.findall(pattern, self.text, re.M)
        return max(figures, key=number)


def split(line: str) -> list[str]:
    """By two spaces or more."""
    return re.split(r"\s{2,}", line.strip())


def number(text: str) -> float:
    return float(text.replace(",", ""))
