"""What all tests share: the owner of their units of work, and its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings

from broker import arrivals, owner

hypothesis_settings.register_profile(
    "no-shrinking", phases=[Phase.explicit, Phase.generate]
)


@pytest.fixture(scope="session", autouse=True)
def _owner_leaves_before_the_database(django_db_setup: None) -> Iterator[None]:
    """The owner's own connection would keep the test database from being dropped."""
    yield
    owner.resign()


@pytest.fixture(autouse=True)
def _nothing_is_said_to_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of arrivals across processes start their own."""
    monkeypatch.setattr(arrivals.Arrivals, "say", lambda *_: None)
