"""An installation sets Spark as it needs it, and a cluster keeps its own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as of_django
from pytest_django import Settings

from console.integration import checks
from dashboards.spark import own_conf
from dashboards.spark.errors import ConfUnreadable

NAMES = ("spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold")
ON_A_CLUSTER = f"""
import sys
from pathlib import Path
from dashboards.spark import own_conf, session
conf = session.spark(Path(sys.argv[1]), own_conf.read(sys.argv[2])).conf
print([conf.get(name) for name in {NAMES!r}], conf.get("spark.driver.memory"))
session.end()
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("spark.a=1, spark.b = x=y ", {"spark.a": "1", "spark.b": "x=y"}),
        (
            '{"spark.a": 7, "spark.b": true, "spark.c": "x,y"}',
            {"spark.a": "7", "spark.b": "true", "spark.c": "x,y"},
        ),
    ],
)
def test_settings_are_pairs_or_json(text: str, found: dict[str, str]) -> None:
    assert own_conf.read(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spark.a=secret,b", "part 2 has no ="),
        ("spark.a=secret,other=2", "'other' is no setting of Spark"),
        ('{"spark.a": "secret",}', "no JSON from character"),
        ('{"spark.a": ["secret"]}', "the value of spark.a is no text"),
        ("spark.master=local[9]", "set SPARK_MASTER"),
        ("spark.sql.session.timeZone=CET", "count in UTC"),
    ],
)
def test_what_cannot_be_read_is_said_without_values(
    text: str, why: str, settings: Settings
) -> None:
    with pytest.raises(ConfUnreadable, match=why) as raised:
        own_conf.read(text)
    assert "secret" not in str(raised.value)

    settings.BACKOUT_REPORTS_SPARK_CONF = text
    [error] = checks.spark_can_be_set_up()
    assert error.id == "console.E013"


@pytest.mark.long
@pytest.mark.spark
def test_a_cluster_has_its_own_defaults(tmp_path: Path) -> None:
    from tests.tools.reports.cluster import cluster  # noqa: PLC0415  loads Spark

    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.shuffle.partitions 33\nspark.driver.memory 900m\n"
    )
    with cluster(tmp_path / "cluster") as master:
        told = subprocess.run(
            [sys.executable, "-c", ON_A_CLUSTER, str(tmp_path / "var"),
             json.dumps({NAMES[1]: "5m"})],
            capture_output=True, text=True, check=True, cwd=of_django.BASE_DIR,
            env=os.environ | {"SPARK_MASTER": master, "SPARK_CONF_DIR": str(tmp_path),
                              "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip

    assert told.stdout.strip() == "['33', '5m'] 900m"
