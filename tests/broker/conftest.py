"""A second connection, for what a rolled back test cannot show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.broker.elsewhere import Elsewhere


@pytest.fixture
def elsewhere(transactional_db: None) -> Iterator[Elsewhere]:
    other = Elsewhere()
    yield other
    other.close()
