"""What every message holds, whoever carries it."""

from __future__ import annotations

import secrets

BODY = secrets.token_hex(256).encode()  # 512 bytes that nothing can compress
