"""Ask the web process of this container whether it is ready; exit 1 if not."""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection

host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0]
connection = HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8000")), timeout=5)
try:
    connection.request("GET", "/readyz", headers={"Host": host})
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(answer.read().decode(errors="replace"))
except OSError as error:
    sys.exit(f"The web process does not answer: {error}")
