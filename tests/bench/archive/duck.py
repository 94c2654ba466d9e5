"""Statements for Spark, asked of DuckDB: the same SQL, translated.

A session and frames with as much of Spark's interface as reports and silver use.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

# What DuckDB has by another name. ``mode_least`` is Spark's ``mode`` of two arguments.
MACROS = (
    "unix_micros(t) AS epoch_us(t)",
    "unix_seconds(t) AS epoch_us(t) // 1000000",
    """mode_least(x) AS list_min(list_filter(map_keys(histogram(x)),
        lambda one: histogram(x)[one] = list_max(map_values(histogram(x)))))""",
    "size_of(m) AS len(map_keys(m))",
)
REWRITTEN = {  # that the translator does not know
    r"\bmode\(((?:[^()]|\([^()]*\))*), true\)": r"mode_least(\1)",
    r"\blast\(IF\(": "last_value(IF(",
    r",\s*true\)(\s+OVER)": r") IGNORE NULLS\1",
    r"\bpercentile\(": "quantile_cont(",
    r"\bsize\((properties|numbers)\)": r"size_of(\1)",
    r"\bLATERAL VIEW explode\((\w+)\) AS name, (\w+)": (
        r", LATERAL (SELECT unnest(map_keys(\1)) AS name,"
        r" unnest(map_values(\1)) AS \2) AS pair"
    ),
    r"\bLATERAL VIEW inline\(array\((.*)\)\) AS field, value": (
        r", LATERAL (VALUES \1) AS pair (field, value)"
    ),
    r"\bstruct\(('[^']+') AS field, (\w+) AS value\)": r"(\1, \2)",
    r"(AS|>) then\b": r"\1 earlier",
}
COLUMN = r"(\w+) ([\w<, >]+?)\s*(?:,\s+(?=\w+ )|$)"  # of a schema


@dataclass(frozen=True)
class Frame:
    """A view or a table."""

    name: str
    sparkSession: Duck  # noqa: N815  # as Spark names it

    def localCheckpoint(self, **_: Any) -> Frame:  # noqa: N802  # as Spark names it
        return self.sparkSession.made(f"FROM {self.name}", "TABLE")

    def collect(self) -> list[tuple[Any, ...]]:
        return self.sparkSession.ask(f"FROM {self.name}")

    def count(self) -> int:
        return len(self.rows())

    def rows(self) -> pa.Table:
        return self.sparkSession.database.sql(f"FROM {self.name}").to_arrow_table()


class Duck:
    """A session."""

    def __init__(self, scratch: Path, threads: int) -> None:
        logging.getLogger("sqlglot").setLevel(logging.ERROR)
        self.database = duckdb.connect(str(scratch / "rival.duckdb"))
        self.many = 0  # frames
        self.also: dict[str, str] = {}
        self.ask("SET TimeZone = 'UTC'")
        self.ask(f"SET threads = {threads}")
        self.ask("SET memory_limit = '2GB'")
        for macro in MACROS:
            self.ask(f"CREATE OR REPLACE MACRO {macro}")

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        return self.database.execute(statement).fetchall()

    def sql(
        self, text: str, args: Mapping[str, Any] | None = None, **frames: Any
    ) -> Frame:
        """A frame of a query in Spark's words."""
        query = text.format(**{name: frame.name for name, frame in frames.items()})
        for name, value in (args or {}).items():
            query = re.sub(rf"(?<!:):{name}\b", literal(value), query)
        for pattern, new in (REWRITTEN | self.also).items():
            query = re.sub(pattern, new, query)
        return self.made(sqlglot.transpile(query, read="spark", write="duckdb")[0])

    @contextmanager
    def also_rewriting(self, patterns: dict[str, str]) -> Iterator[None]:
        self.also = patterns
        try:
            yield
        finally:
            self.also = {}

    def made(self, query: str, kind: str = "VIEW") -> Frame:
        """A frame of a query in DuckDB's words."""
        self.many += 1
        self.ask(f"CREATE OR REPLACE TEMPORARY {kind} frame{self.many} AS {query}")
        return Frame(f"frame{self.many}", self)

    def table(self, rows: pa.Table) -> Frame:
        self.database.register("rows", rows)
        return self.made("FROM rows", "TABLE")

    def createDataFrame(  # noqa: N802  # as Spark names it
        self, rows: list[tuple[Any, ...]], ddl: str
    ) -> Frame:
        empty = self.files([], ddl)
        known = self.database.sql(f"FROM {empty.name}").to_arrow_table().schema
        named = [dict(zip(known.names, row, strict=True)) for row in rows]
        return self.table(pa.Table.from_pylist(named, known))

    def files(self, paths: Iterable[Path], ddl: str) -> Frame:
        """The rows of files, with the columns of a schema in Spark's words."""
        columns = re.findall(COLUMN, ddl)
        typed = ", ".join(
            f"CAST({name} AS {type_}) AS {name}" for name, type_ in columns
        )
        nothing = ", ".join(f"NULL AS {name}" for name, _ in columns)
        query = f"SELECT {typed} FROM (SELECT {nothing})"
        typed = sqlglot.transpile(query, read="spark", write="duckdb")[0]
        if named := [str(path) for path in paths]:
            begin, _, _ = typed.partition(" FROM (")
            return self.made(f"{begin} FROM read_parquet({named})")
        return self.made(f"{typed} LIMIT 0")


def literal(value: object) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat()}'"
    return repr(value)
