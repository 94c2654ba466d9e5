"""How much memory, processor, disk and time Backout takes, for docs/benchmarks.md.

    .venv/bin/python manage.py with_servers .venv/bin/python -m tests.tools.footprint \\
        --write

It starts the console as ``make run`` does, on an empty directory and a second time, and
then the broker alone in a project of its own. Nothing else should run on the machine.
Linux only.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import django
import psutil

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()

from django.core.management import call_command

from tests import installed
from tests.bench import report
from tests.console.ports import kept_port
from tests.installed import TREE, Project

ROWS: list[str] = []  # as they are printed
MEGABYTE = 10**6
SETTLES_S = 30  # until caches and the schedule are as they stay
COMMANDS = 3
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
DATABASE = "footprint"
TITLE = "Memory and idle load"
PROSE = """\
Measured on {date} by `python -m tests.tools.footprint --write` with servers, while
nothing else ran. Memory is the proportional set.

| | |
|---|---|
{rows}"""
BASIS = ("Django", "psycopg[binary]")  # what a project with PostgreSQL has anyway


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=float, default=60, help="seconds to watch")
    parser.add_argument("--core", action="store_true", help="the broker alone only")
    parser.add_argument("--write", action="store_true", help="to docs/benchmarks.md")
    options = parser.parse_args()
    date = time.strftime("%-d %B %Y")
    print(f"{date}, Python {sys.version.split()[0]}\n")
    with TemporaryDirectory() as folder:
        if not options.core:
            of_console(Path(folder, "var"), options.idle)
            of_extras()
        of_core(Path(folder))
    if options.write and not options.core:
        report.write_part(TITLE, PROSE.format(date=date, rows="\n".join(ROWS)))


def row(what: str, figure: str) -> None:
    ROWS.append(f"| {what} | {figure} |")
    print(ROWS[-1], flush=True)


def of_console(var: Path, idle: float) -> None:
    """What ``make run`` starts."""
    with running(var) as (_, seconds):
        row("first page, with a new database", f"{seconds:.1f} s")
    with running(var) as (launcher, seconds):
        row("first page, later", f"{seconds:.1f} s")
        row("processor time of `backout queues`", f"{command_s(var):.2f} s")
        time.sleep(SETTLES_S)
        before = processor_s(launcher)
        time.sleep(idle)
        spent = processor_s(launcher) - before
        row("processor when idle", f"{100 * spent / idle:.1f} % of a core")
        sizes = memory(launcher)
        count = sum(map(len, sizes.values()))
        total = sum(map(sum, sizes.values()))
        row(f"memory, {count} processes", f"{total:.0f} MB")
        for name, each in sorted(sizes.items(), key=lambda one: -sum(one[1])):
            row(f"– {name}, {len(each)}", f"{sum(each):.0f} MB")


@contextmanager
def running(var: Path) -> Iterator[tuple[psutil.Process, float]]:
    """The console, and the seconds until its first page was there."""
    with kept_port() as port:
        environment = own_environment(var) | {"PORT": str(port)}
        began = time.monotonic()
        launcher = subprocess.Popen(
            [sys.executable, "manage.py", "run"],
            cwd=TREE,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert launcher.stdout
            while not launcher.stdout.readline().startswith("Backout is running"):
                assert launcher.poll() is None, "it has ended by itself"
            yield psutil.Process(launcher.pid), time.monotonic() - began
        finally:
            launcher.terminate()
            launcher.communicate()


def own_environment(var: Path) -> dict[str, str]:
    """That of this process, but for the servers that it has."""
    servers = ("DATABASE_URL", "REDIS_URL")
    kept = {name: text for name, text in os.environ.items() if name not in servers}
    return kept | {"BACKOUT_VAR": str(var)}


def family(first: psutil.Process) -> list[psutil.Process]:
    return [first, *first.children(recursive=True)]


def processor_s(first: psutil.Process) -> float:
    """Seconds that all processes have spent; those that have ended, too."""
    return sum(sum(one.cpu_times()[:4]) for one in family(first))


def memory(first: psutil.Process) -> dict[str, list[float]]:
    """Megabytes of each process, by name: its proportional set, in which shared memory
    is divided by the number of processes that share it."""
    found = defaultdict(list)
    for one in family(first):
        found[name_of(one)].append(one.memory_full_info().pss / MEGABYTE)
    return found


def name_of(process: psutil.Process) -> str:
    name = str(process.name())
    if not name.startswith("python"):
        return name.removeprefix("backout ")
    said = " ".join(process.cmdline())
    known = {
        "manage.py run": "launcher",
        "multiprocessing.forkserver": "server of forks",
        "multiprocessing.resource_tracker": "its companion",
    }
    return next((name for part, name in known.items() if part in said), said)


def command_s(var: Path) -> float:
    """Seconds of processor of one look at the queues."""
    found = []
    for _ in range(COMMANDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "manage.py", "backout", "queues"],
            cwd=TREE,
            env=own_environment(var),
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(sum(after[:2]) - sum(before[:2]))
    return median(found)


def of_extras() -> None:
    """Packages on the disk, without bytecode."""
    pinned = re.findall(
        r"^([\w.-]+)(?:\[.*\])?==", (TREE / "requirements.txt").read_text(), re.M
    )
    row("disk: all that `make run` installs", f"{disk(pinned):.0f} MB")
    less = installed.dependencies(["console"]) - installed.dependencies([])
    row("disk: the extra `console`, beside the broker's", f"{disk(less):.0f} MB")
    wheels = installed.PROJECT["optional-dependencies"]["embedded"]
    only = installed.with_theirs(wheels) - installed.dependencies(["console"])
    row("disk: the extra `embedded`, beside those", f"{disk(only):.0f} MB")


def disk(names: Iterable[str]) -> float:
    """Megabytes of packages."""
    return size(
        Path(str(one.locate()))
        for name in names
        if has(name)
        for one in distribution(name).files or ()
    )


def has(name: str) -> bool:
    """Whether a package is there: some are for other systems only."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def size(files: Iterable[Path]) -> float:
    code = (one for one in files if one.suffix != ".pyc" and one.is_file())
    return sum(one.stat().st_size for one in code) / MEGABYTE


def of_core(folder: Path) -> None:
    """The broker in a project of its own, with one handler."""
    project = new_project(folder)
    tops = ("broker", "console", "dashboards")
    packages = project.python.parent.parent
    wheel = [one for top in tops for one in packages.glob(f"lib/*/*/{top}/**/*")]
    theirs = installed.with_theirs(BASIS)
    own = size(wheel) + disk(installed.dependencies([]) - theirs)
    row("disk: the broker alone, beside Django and psycopg", f"{own:.0f} MB")
    dispatcher = project.manage("broker_dispatch")
    try:
        assert dispatcher.stdout
        assert dispatcher.stdout.readline().startswith("orders")
        time.sleep(SETTLES_S)
        (sizes,) = memory(psutil.Process(dispatcher.pid)).values()
        row("memory of the broker alone, its dispatcher", f"{sum(sizes):.0f} MB")
    finally:
        dispatcher.terminate()
        dispatcher.communicate()
        installed.recreate(DATABASE, create=False)


def new_project(folder: Path) -> Project:
    """As docs/install.md makes one."""
    page = (TREE / "docs" / "install.md").read_text()
    settings, create, _, _, handler, *_ = BLOCK.findall(page)
    place = folder / "project"
    place.mkdir()
    call_command("startproject", "shop", str(place))
    (place / "trade").mkdir()
    call_command("startapp", "trade", str(place / "trade"))
    with (place / "shop" / "settings.py").open("a") as written:
        written.write(settings.replace('"shop"', f'"{DATABASE}"'))
        written.write('INSTALLED_APPS += ["trade"]\n')
    (place / "trade" / "handlers.py").write_text(handler)
    installed.recreate(DATABASE)
    wheel = installed.build(folder)
    project = Project(place, installed.environment(folder / "venv", wheel))
    project.run("migrate", "--verbosity=0")
    project.run("shell", "--verbosity=0", "-c", create)
    return project


if __name__ == "__main__":
    main()
