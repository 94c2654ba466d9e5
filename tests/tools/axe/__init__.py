"""axe, which finds accessibility problems: fetched from npm by the lock file beside
this module, into ``var/axe``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from console.runtime.preflight import CannotStart
from console.runtime.supervisor import Say
from tests.tools import npm

HERE = Path(__file__).parent
FOLDER = HERE.parents[2] / "var" / "axe"
LOCK = "package-lock.json"
SCRIPT = "node_modules/axe-core/axe.min.js"


def path() -> Path | None:
    """Where the script is; none if that of the lock file is not fetched."""
    fetched = FOLDER / LOCK
    is_current = fetched.exists() and fetched.read_bytes() == (HERE / LOCK).read_bytes()
    return FOLDER / SCRIPT if is_current else None


def ensure(say: Say) -> None:
    """Fetch the script, unless it is there.

    Raises:
        CannotStart: npm could not fetch it.
    """
    if path():
        return
    say("Fetching axe for the tests of the pages: 3 MB, once.")
    FOLDER.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=FOLDER.parent) as made:
        new = Path(made, "axe")
        new.mkdir()
        for name in ("package.json", LOCK):
            shutil.copyfile(HERE / name, new / name)
        done = npm.ci(new, "--fetch-retries=0")
        if done.returncode:
            raise CannotStart(
                "The tests of the pages need axe, and npm could not fetch it. npm says:"
                f" {done.stderr.strip()}"
            )
        shutil.rmtree(FOLDER, ignore_errors=True)
        new.rename(FOLDER)
