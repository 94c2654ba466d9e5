"""The map that all clients find."""

from __future__ import annotations

import pytest

from broker.models import Address
from tests.make import make_queue, make_setting


@pytest.fixture(autouse=True)
def _map(transactional_db: None) -> None:
    """Queues, and where their dead letters go."""
    make_queue("orders")
    make_queue("answers")
    make_queue("DLQ", address="DLA")
    make_queue("late")
    Address.objects.create(name="news")
    make_setting("#", dead_letter_address="DLA", expiry_address="late")
