"""Files of an archive that is in a folder of this machine, as in nearly all tests."""

from __future__ import annotations

from pathlib import Path

from dashboards.models import ArchiveFile
from dashboards.pipeline import archive


def root() -> Path:
    found = archive.root()
    assert isinstance(found, Path)
    return found


def place(file: ArchiveFile) -> Path:
    return root() / file.path
