"""Every page in all ways, looked at and photographed, on a database of its own:

.venv/bin/python manage.py with_servers python -m tests.console.pictures DIR
"""

from __future__ import annotations

import django

django.setup()  # before any module that asks for a model
