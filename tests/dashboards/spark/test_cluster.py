"""A cluster gives the rows that one process gives, of every report there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from tests.dashboards.failing import ENDED, make_failures
from tests.dashboards.histories import last_xid
from tests.dashboards.journal import until_final
from tests.tools.reports.cluster import compare


@pytest.mark.long
@pytest.mark.spark
def test_a_cluster_gives_the_same_rows(committed: None, tmp_path: Path) -> None:
    make_failures(timezone.now() - ENDED)
    until_final(last_xid())
    assert compare(connection.settings_dict["NAME"], tmp_path)
