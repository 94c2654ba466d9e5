"""What clients were told stays true, whatever is killed meanwhile."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.amqp.killing import rehearse

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.long]

BACK_WITHIN_S = {"listener": 20, "PostgreSQL": 20}  # where much else goes on


def test_kills_lose_nothing_and_double_nothing() -> None:
    # A socket's path is at most 107 characters long, and pytest's are longer.
    with TemporaryDirectory() as directory:
        found = rehearse(Path(directory), kills=2, seed=1)

    assert found.wrong == []
    assert found.troubles == []
    assert len(found.ledger.confirmed) > 100
    assert found.ledger.accepted.total() > 100
    for victim, within_s in BACK_WITHIN_S.items():
        assert max(found.back_s[victim]) < within_s
