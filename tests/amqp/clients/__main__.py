"""Runs all clients, and prints for each which cases it passed of those it tried."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def main() -> int:
    here = str(Path(__file__).parent)
    return int(pytest.main(["-q", "-m", "", here, *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())
