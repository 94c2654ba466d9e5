#!/usr/bin/env python
"""Django's command line, and the launcher: ``manage.py run`` does not load Django."""

import os
import sys
from importlib import import_module

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    if sys.argv[1:2] == ["run"]:
        import_module("console.runtime.launcher").main(sys.argv[2:])
    else:
        management = import_module("django.core.management")
        management.execute_from_command_line(sys.argv)
