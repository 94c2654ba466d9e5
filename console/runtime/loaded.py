"""The process of forks imports this module: then it has loaded all that they need."""

from __future__ import annotations

import os

from console.runtime import forkserver

forkserver.ignore_signals()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

from console.runtime import preloading  # noqa: E402

preloading.load()
forkserver.settle()
