"""Settings of the dispatcher that is measured: the project's, and its handlers."""

from __future__ import annotations

from console.settings import *  # noqa: F403

INSTALLED_APPS += ["tests.handlers_bench"]  # noqa: F405
