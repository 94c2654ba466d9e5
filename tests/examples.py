"""The number of examples of tests that take seconds: all, or a part of them."""

from __future__ import annotations

from hypothesis import settings

WHOLE = ("thorough", "exploring")  # profiles that draw all examples
PART = 3


def examples(number: int) -> int:
    """Draw ``number`` examples in a thorough run, and a third of them in others.

    ``make spec`` and the runs with mutants are thorough. Read it when a test module is
    imported: the profile is known by then.
    """
    whole = settings.get_current_profile_name() in WHOLE
    return number if whole else number // PART
