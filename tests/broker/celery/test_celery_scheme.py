"""The URL ``backout://`` where it leads nowhere."""

from __future__ import annotations

import subprocess
import sys

from django.conf import settings

WITHOUT_THE_BROKER = """
from django.conf import settings
settings.configure()
from broker.management import celery_scheme
celery_scheme.transport()
"""


def test_a_project_without_the_broker_is_told_what_to_add() -> None:
    """As when a test configures Django with settings of its own."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_BROKER],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    *_, told = done.stderr.splitlines()
    assert told == (
        "django.core.exceptions.ImproperlyConfigured: backout:// is the database of a"
        " Django project with the application 'broker'. Add it to INSTALLED_APPS."
    )
