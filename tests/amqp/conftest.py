"""What tests of the listener share: one that runs, and certificates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.amqp.certifying import Certified, certify
from tests.amqp.listening import Listening, listener


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    """A listener with the limits of production."""
    with listener() as listening:
        yield listening


@pytest.fixture(scope="session")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """An authority, the certificate of the server, and those of clients."""
    return certify(tmp_path_factory.mktemp("certificates"))
