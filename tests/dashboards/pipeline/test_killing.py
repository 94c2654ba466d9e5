"""A driver that is killed, and another that goes on, leave what one alone leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection

from tests.dashboards.losses import make_losses
from tests.tools.reports.killing import compare


@pytest.mark.long
@pytest.mark.spark
def test_a_killed_driver_loses_and_doubles_nothing(
    committed: None, tmp_path: Path
) -> None:
    make_losses(hours=24)
    assert compare(connection.settings_dict["NAME"], tmp_path, kills=2, seed=7)
