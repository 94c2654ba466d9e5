"""Fetches third-party assets of the pages."""

from __future__ import annotations

import sys

from django.conf import settings
from django.core.management.base import BaseCommand

from console.runtime import vendored_assets
from console.runtime.preflight import CannotStart


class Command(BaseCommand):
    help = "Fill static/vendor from npm by frontend/package-lock.json."
    requires_system_checks = []

    def handle(self, **_: object) -> None:
        try:
            vendored_assets.vendor(settings.BASE_DIR, self.stdout.write)
        except CannotStart as refusal:
            self.stderr.write(str(refusal))
            sys.exit(1)
