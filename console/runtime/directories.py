"""Where a checkout keeps its files: for the settings, and for the launcher, which does
not load them."""

from __future__ import annotations

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent.parent
# Run-time data: databases, sockets, logs, reports.
VAR_DIR = Path(os.environ.get("BACKOUT_VAR", BASE_DIR / "var")).resolve()
SECRET_KEY_FILE = VAR_DIR / "secret_key"
# keys that encrypt passwords for other brokers
SECRET_KEYS_FILE = VAR_DIR / "secret_keys"
