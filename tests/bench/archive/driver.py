"""What the reports worker does, step by step, in a process of its own.

    python -m tests.bench.archive.driver <database> <var>

Prints a line of JSON before and after each step.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import django

from tests.tools.reports.cluster import SAID

RUN = 1  # whose number the files bear


def main(database: str, var: Path) -> None:
    django.setup()
    from django.conf import settings  # noqa: PLC0415

    settings.DATABASES["default"]["NAME"] = database
    settings.VAR_DIR = var
    from dashboards.pipeline import (  # noqa: PLC0415  loads Spark
        bronze,
        compaction,
        gold,
        manifest,
        silver_days,
    )
    from dashboards.pipeline.run import keep_days  # noqa: PLC0415
    from dashboards.reports import discover  # noqa: PLC0415  loads Spark
    from dashboards.spark import cpu_share, session  # noqa: PLC0415  loads Spark

    def around(*_: float) -> nullcontext[None]:
        return nullcontext()

    cpu_share.give_way()
    as_of = bronze.export(lambda _: None)
    tell("copying")
    events = manifest.rows_of(manifest.BRONZE, silver_days.windows())
    spark = session.spark(var, events=events)
    tell("starting Spark")
    silver_days.bring_up_to_date(spark, RUN, as_of, around)
    tell("silver")
    compaction.keep_small(as_of, keep_days())
    tell("compaction")
    for slug, report in sorted(discover().items()):
        if report.is_by_day:
            rows = gold.bring_up_to_date(spark, RUN, report, as_of, around)
        else:
            names = {one.name for one in report.parameters}
            said = {name: value for name, value in SAID.items() if name in names}
            rows = gold.answer(spark, report, said, as_of).num_rows
        tell(slug, rows)


def tell(ended: str, rows: int | None = None) -> None:
    print(json.dumps([ended, rows]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
