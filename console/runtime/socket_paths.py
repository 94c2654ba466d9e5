"""The directory of the embedded servers' sockets, for settings and servers.

A socket's path is limited to about a hundred bytes, and a checkout may be deep.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from urllib.parse import quote

# The shortest known limit (macOS 104, Linux 108), less the terminating zero.
LONGEST_PATH = 103
POSTGRESQL = ".s.PGSQL.5432"  # PostgreSQL chooses this name itself
REDIS = "redis.sock"


def socket_dir(var: Path) -> Path:
    """The directory of the sockets of the servers under ``var``; creates nothing.

    ``var/run`` if its path is short enough. Otherwise a directory for temporary files;
    ``var/run`` is a symbolic link to it while the servers run, so that a shell with
    another TMPDIR finds them too.
    """
    run = var / "run"
    if run.is_symlink():
        return run.readlink()
    if len(os.fsencode(run / POSTGRESQL)) <= LONGEST_PATH:
        return run
    name = hashlib.sha256(os.fsencode(var)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"backout-{name}"


def database_url(var: Path) -> str:
    return f"postgresql://postgres@:5432/postgres?host={quote(str(socket_dir(var)))}"


def redis_url(var: Path) -> str:
    return f"unix://{quote(str(socket_dir(var) / REDIS))}"
