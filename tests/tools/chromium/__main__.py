"""Fetch a browser for the tests of the pages, or say what is missing."""

from __future__ import annotations

import sys

from console.runtime.preflight import CannotStart
from tests.tools import chromium

try:
    chromium.ensure(print)
except CannotStart as refusal:
    sys.exit(str(refusal))
