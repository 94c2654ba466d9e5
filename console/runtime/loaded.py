"""Imports what the programs of the Procfile need, for ``forkserver``; nothing connects
to a server or starts a thread."""

from __future__ import annotations

import os

from setproctitle import setproctitle

setproctitle("python -m console.runtime.forkserver")  # before the environment changes
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

import django  # noqa: E402

django.setup()

import uvicorn  # noqa: E402, F401

from console.runtime import forkserver  # noqa: E402

forkserver.settle()
