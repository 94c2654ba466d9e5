"""Fetch a browser and axe for the tests of the pages, or say what is missing."""

from __future__ import annotations

import sys

from console.runtime.preflight import CannotStart
from tests.tools import axe, chromium

try:
    chromium.ensure(print)
    axe.ensure(print)
except CannotStart as refusal:
    sys.exit(str(refusal))
