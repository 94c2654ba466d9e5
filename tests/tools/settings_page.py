"""Writes docs/settings.md from the tables of settings: ``python -m`` this."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

from broker.config import defaults as of_broker
from console.integration import defaults as of_console

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
HEAD = """# Settings

This page is made from `broker/config/defaults.py` and
`console/integration/defaults.py` by `python -m tests.tools.settings_page`.
[Into your Django project](install.md#settings) says where values may stand;
[operations](operations.md) has those of the console as a project of its own. A setting
without a default depends on others, as it says. Sizes are in bytes. How messages are
treated, such as attempts and delays, is set by address in the database.
"""
COLUMNS = "\n| setting | type | default | |\n|---|---|---|---|\n"


def page() -> str:
    """The whole page."""
    broker, console = "".join(rows(of_broker)), "".join(rows(of_console))
    return (
        f"{HEAD}\n## The broker\n{COLUMNS}{broker}\n## The console\n{COLUMNS}{console}"
    )


def rows(table: ModuleType) -> Iterator[str]:
    for name, hint in get_type_hints(table, include_extras=True).items():
        kind, sentence = get_args(hint)
        said = shown(getattr(table, name)) if hasattr(table, name) else ""
        cells = (f"`{name}`", in_words(kind), said, sentence)
        yield f"| {' | '.join(cells).replace('  ', ' ')} |\n"


def in_words(kind: object) -> str:
    """A type as one writes it; none of its signs may end a cell."""
    word = kind.__name__ if isinstance(kind, type) else str(kind)
    return (str(kind) if get_args(kind) else word).replace(" | ", " or ")


def shown(value: object) -> str:
    if value in ("", []):
        return "empty"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}".replace(",", " ")
    return f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page())
