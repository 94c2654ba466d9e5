"""Convert a folder of files of another broker, apply each to an empty broker, and plan
it again: what was read, taken over and named, and whether anything would still change.

    manage.py with_servers python -m tests.tools.converting mqsc FOLDER [--to FOLDER]

The files may lie deeper, and have any name. Each is rolled back. The exit code is 1 if
one cannot be applied, or would change something when applied again; a file that is
refused as not of the form is only told. ``--to`` writes the converted files.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

import django

django.setup()

from django.db import connection, transaction  # noqa: E402

from broker.declarations import apply, converters, plan, read  # noqa: E402
from broker.errors import BrokerError  # noqa: E402
from broker.errors.settings import WrongSettings  # noqa: E402

COLUMNS = ("read", "taken", "named", "defaults", "objects")


def tried(form: str, path: Path, to: Path | None) -> tuple[str, Counter[str]]:
    """What became of one file, in words and in numbers."""
    try:
        found = converters.read(form, path.read_bytes())
        text = converters.in_toml(found, form, source=path.name)
    except WrongSettings as error:
        return f"refused: {error}", Counter(refused=1)
    if to is not None:
        (to / f"{path.name}.toml").write_text(text)
    counts, made = found.parts.counts, len(found.declarations)
    numbers = (counts.read, counts.taken, counts.named, counts.defaults, made)
    known = Counter(dict(zip(COLUMNS, numbers, strict=True)))
    try:
        with transaction.atomic():
            declared, _ = read(text)
            apply(plan(declared))
            again = len(plan(declared).changes)
            transaction.set_rollback(True)
    except BrokerError as error:
        return f"CANNOT BE APPLIED: {error}", known + Counter(failed=1)
    if again:
        return f"{again} CHANGES WHEN PLANNED AGAIN", known + Counter(failed=1)
    return "planned again: empty", known + Counter(applied=1)


def main() -> int:
    parser = ArgumentParser()
    parser.add_argument("form", choices=list(converters.FORMS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    if given.to is not None:
        given.to.mkdir(parents=True, exist_ok=True)
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    total: Counter[str] = Counter()
    files = sorted(one for one in given.folder.rglob("*") if one.is_file())
    for path in files:
        words, counts = tried(given.form, path, given.to)
        numbers = " ".join(f"{one} {counts[one]:,}" for one in COLUMNS)
        print(f"{path.relative_to(given.folder)}: {numbers}; {words}")
        total += counts
    print(f"{len(files)} files: {', '.join(f'{k} {v:,}' for k, v in total.items())}")
    return min(total["failed"], 1)


if __name__ == "__main__":
    sys.exit(main())
