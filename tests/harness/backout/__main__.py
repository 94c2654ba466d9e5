"""The process that the harness starts: ``python -m tests.harness.backout``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import django

from tests.harness.backout import meters
from tests.harness.backout.ending import die_with_parent
from tests.harness.contract import Pace, Told, say

SETTINGS = "tests.harness.backout.settings"
PROCESSES = "BACKOUT_HARNESS_PROCESSES"
STOPS_WITHIN_S = 4.0  # the contract says 5
LOOK_S = 0.1
BEGINS_WITHIN_S = 40.0  # the harness waits a minute for the descriptor


def main() -> int:
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS
    told = Told.read()
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    django.setup()
    from tests.harness.backout import queue  # noqa: PLC0415 - needs Django
    from tests.harness.backout.producer import Producer  # noqa: PLC0415
    from tests.harness.backout.sampler import Sampler  # noqa: PLC0415

    pace = Pace(told, stopping)
    pace.listen(sys.stdin)
    queue.prepare(told)
    with TemporaryDirectory(prefix="backout-harness-") as name:
        folder = Path(name)
        producer = Producer(told, pace, stopping)
        sampler = Sampler(told, pace, producer, folder, stopping)
        with dispatcher(told, folder, stopping) as process:
            pace.is_ready = True
            queue.describe(told)
            threads = [
                threading.Thread(target=work, daemon=True)
                for work in (producer.run, sampler.look, sampler.run)
            ]
            for thread in threads:
                thread.start()
            while not stopping.wait(LOOK_S):
                if process.poll() is not None:
                    say(f"The dispatcher ended: {process.returncode}.")
                    return 1
            for thread in threads:
                thread.join(timeout=0.5)
        sampler.sample()
    return 0


@contextmanager
def dispatcher(
    told: Told, folder: Path, stopping: threading.Event
) -> Iterator[subprocess.Popen[bytes]]:
    """``broker_dispatch``, with a process for each core, as it is by default. All of
    them have begun, unless they take very long.
    """
    processes = min(len(os.sched_getaffinity(0)), told.workers)
    more = {PROCESSES: str(processes), meters.FOLDER: str(folder)}
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "django", "broker_dispatch"),
            f"--processes={processes}",
        ],
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        preexec_fn=die_with_parent,
    )
    until = time.monotonic() + BEGINS_WITHIN_S
    while len(list(folder.iterdir())) < processes and time.monotonic() < until:
        if stopping.wait(LOOK_S):
            break
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            say(f"The dispatcher is killed, as {STOPS_WITHIN_S} s were not enough.")
            process.kill()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads may still wait for the database
