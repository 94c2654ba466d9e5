"""The processor time that copying the journal to the archive takes.

    .venv/bin/python manage.py with_servers \
        .venv/bin/python -m tests.bench.archive.copying --millions 1

Prints seconds of this process, and of all processes of PostgreSQL together. Messages
have their fields filled.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

import django
import psutil


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=1, help="of events")
    asked = parser.parse_args()
    django.setup()
    from django.conf import settings  # noqa: PLC0415  needs the set-up
    from django.db.models import Sum  # noqa: PLC0415

    from dashboards.models import ArchiveFile  # noqa: PLC0415
    from dashboards.pipeline import bronze  # noqa: PLC0415
    from tests.bench import ground  # noqa: PLC0415
    from tests.bench.archive import stories  # noqa: PLC0415

    with ground.own_database(), TemporaryDirectory() as var:
        settings.VAR_DIR = Path(var)
        stories.begin()
        stories.write(0, asked.millions)
        client, server, wall = time.process_time(), server_s(), time.perf_counter()
        bronze.export(lambda _: None)
        client, server = time.process_time() - client, server_s() - server
        wall = time.perf_counter() - wall
        rows = ArchiveFile.objects.values_list("table").annotate(rows=Sum("rows"))
        counted = dict(rows)
        bytes_ = sum(one.stat().st_size for one in Path(var).rglob("*.parquet"))
        print(*(f"{name}: {count:,} rows" for name, count in counted.items()), sep=", ")
        print(f"client {client:.2f} CPU-s, PostgreSQL {server:.2f} CPU-s, {wall:.2f} s")
        print(f"{counted['bronze'] / (client + server):,.0f} events per CPU-second")
        print(f"{bytes_ / 2**20:.1f} MiB of files")


def server_s() -> float:
    """Seconds of processor time of PostgreSQL, with its processes that have ended."""
    from dashboards.spark import cpu_share  # noqa: PLC0415  needs the set-up

    server = psutil.Process(cpu_share.listener())
    said = server.cpu_times()
    ended = said.children_user + said.children_system
    running = [said, *(one.cpu_times() for one in server.children())]
    return float(ended + sum(one.user + one.system for one in running))


if __name__ == "__main__":
    main()
