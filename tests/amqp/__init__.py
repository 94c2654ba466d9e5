"""The listener for AMQP 1.0, its engine, and what lives beside them.

Some modules are commands as well, ``python -m tests.amqp.fuzzing``: they need Django
before anything of it is imported.
"""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()
