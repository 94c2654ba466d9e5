"""Fixtures for pytest with pytest-django. A project's outermost ``conftest.py`` has::

pytest_plugins = ["broker.client.testing.fixtures"]
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.client.testing.asserting import assert_no_dead_letters
from broker.client.testing.running import Dispatching, dispatching


@pytest.fixture
def no_dead_letters(db: None) -> Iterator[None]:
    """Fail the test at its end if a message died in it."""
    yield
    assert_no_dead_letters()


@pytest.fixture
def dispatcher(transactional_db: None) -> Iterator[Dispatching]:
    """A dispatcher in threads of this process, with the project's handlers and tasks,
    for tests that commit."""
    with dispatching() as running:
        yield running
