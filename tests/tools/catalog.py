"""Collects the texts that are marked for translation, and compiles their translations.

    .venv/bin/python -m tests.tools.catalog

It needs GNU gettext. What is new has no translation yet: write it into the ``.po``
files below ``console/locale``, and run the command again. A test compares all of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[2]
LOCALE = ROOT / "console" / "locale"
DOMAINS = {"django": "html,py", "djangojs": "js"}
IGNORED = (
    *("tests/*", "var/*", ".venv/*", "docs/*", "static/vendor/*", "*/migrations/*"),
    *("console/demo/*", "build/*"),
)


def path_of(domain: str, language: str = "de", locale: Path = LOCALE) -> Path:
    return locale / language / "LC_MESSAGES" / f"{domain}.po"


def collect(locale: Path = LOCALE, language: str = "de", tree: Path = ROOT) -> None:
    """Write all marked texts into the catalogs of a directory; what these have of them
    stays, and what is no longer marked goes.

    Args:
        locale: the directory.
        language: of the catalogs.
        tree: where the texts are; Django puts files beside the templates meanwhile.
    """
    locale.mkdir(parents=True, exist_ok=True)
    for domain, endings in DOMAINS.items():
        ignored = [f"--ignore={one}" for one in (*IGNORED, "*/locale")]
        code = (
            "import django, sys; from django.conf import settings;"
            f"settings.LOCALE_PATHS = [{str(locale)!r}];"
            "from django.core.management import execute_from_command_line as run;"
            "run(sys.argv)"
        )
        subprocess.run(
            [
                *(sys.executable, "-c", code, "makemessages", "--locale", language),
                *("--domain", domain, "--extension", endings, "--no-obsolete"),
                *("--no-location", "--no-wrap", "--verbosity", "0", *ignored),
            ],
            cwd=tree,
            check=True,
            env={**environment(), "DJANGO_SETTINGS_MODULE": "console.settings"},
        )


def environment() -> dict[str, str]:
    import os  # noqa: PLC0415

    return dict(os.environ)


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


def compile_catalogs(locale: Path = LOCALE) -> None:
    """Write the ``.mo`` file beside each ``.po`` file."""
    for path in sorted(locale.glob("*/LC_MESSAGES/*.po")):
        with path.with_suffix(".mo").open("wb") as file:
            write_mo(file, read(path))


def is_translated(message: Message) -> bool:
    """Whether a text has a translation, in all of its forms."""
    forms = message.string
    every = forms if isinstance(forms, list | tuple) else [forms]
    return not message.fuzzy and all(every)


if __name__ == "__main__":
    collect()
    compile_catalogs()
    for one in DOMAINS:
        texts = [message for message in read(path_of(one)) if message.id]
        left = [message for message in texts if not is_translated(message)]
        print(f"{one}: {len(texts)} texts, {len(left)} without a translation.")
