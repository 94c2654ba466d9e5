"""The site of docs/ is built without a warning: links, anchors, pages of the menu."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parent.parent


@pytest.mark.thorough
@pytest.mark.skipif(
    find_spec("material") is None,
    reason="mkdocs-material is not installed: run make lint, which installs it.",
)
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path)],
        cwd=TREE,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    pages = {str(one.relative_to(TREE / "docs")) for one in TREE.glob("docs/**/*.md")}
    made = {str(one.relative_to(tmp_path)) for one in tmp_path.glob("**/*.html")}
    assert {one.removesuffix(".md") + ".html" for one in pages} <= made
