"""No rule but those of the test."""

from __future__ import annotations

import pytest

from broker.models import AlertRule


@pytest.fixture
def no_rules(db: None) -> None:
    AlertRule.objects.all().delete()
