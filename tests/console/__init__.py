"""The operator's pages, what they stand on, and an operator who uses them.

Some modules are commands as well, ``python -m tests.console.operator``: they need
Django before anything of it is imported.
"""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()
