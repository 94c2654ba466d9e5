"""Databases that Django makes for tests.

What protects an installation there stands in the way of the next test.
"""

from __future__ import annotations

from django.core import mail
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.creation import TEST_DATABASE_PREFIX


def is_of_tests(database: BaseDatabaseWrapper) -> bool:
    """Whether it is a database that Django made for the tests that run now."""
    name, given = database.settings_dict["NAME"], database.settings_dict["TEST"]["NAME"]
    runs = hasattr(mail, "outbox")  # set by Django's ``setup_test_environment``
    return runs and (name == given or name.startswith(TEST_DATABASE_PREFIX))
