"""A night shift: what an operator has to do for one cause of very many dead letters.

    manage.py with_servers python -m tests.tools.night_shift [--messages N] [--causes N]

The operator opens the group of the largest cause, sends its messages with a patch that
is wrong, sees the operation stop itself, takes back what was sent, and sends all with
the right patch: once with a mouse, and once by the keyboard alone. The console is real,
in a real browser; a consumer fails what is still wrong.
"""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()
