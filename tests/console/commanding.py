"""Runs ``manage.py backout``, and hears what it says."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command


class Said(str):
    """What a command wrote, and beside it."""

    errors: str


def run(*arguments: object) -> Said:
    out, errors = StringIO(), StringIO()
    call_command("backout", *map(str, arguments), stdout=out, stderr=errors)
    said = Said(out.getvalue())
    said.errors = errors.getvalue()
    return said


def told(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


def refused(*arguments: object) -> tuple[int, str]:
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    return refusal.value.returncode, str(refusal.value)
