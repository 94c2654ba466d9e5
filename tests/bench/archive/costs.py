"""Processor time of a step: of Java by what its threads do, and of Python."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

TICKS_A_S = 100  # of /proc/<process>/task/<thread>/stat
COMPILERS = ("C1 CompilerThre", "C2 CompilerThre")
COLLECTORS = ("GC ", "G1 ", "VM Thread")  # the last with one processor


class Cost(NamedTuple):
    """Seconds; all but ``wall_s`` of processor time."""

    wall_s: float = 0.0
    cpu_s: float = 0.0  # of Python, of Java, and of what Java started
    compiling_s: float = 0.0  # by Java's own compilers
    collecting_s: float = 0.0
    tasks_s: float = 0.0  # as Spark counts it
    jobs: float = 0

    @property
    def planning_s(self) -> float:
        """The rest of all: plans, generated code, scheduling, Python."""
        rest = self.cpu_s - self.compiling_s - self.collecting_s - self.tasks_s
        return max(0.0, rest)

    def __add__(self, other: Any) -> Cost:
        return Cost(*(one + two for one, two in zip(self, other, strict=True)))

    def __sub__(self, other: Any) -> Cost:
        return Cost(*(one - two for one, two in zip(self, other, strict=True)))


class Meter:
    """What this process and its Java have used so far."""

    def __init__(self) -> None:
        self.spark: Any = None  # once it has been started
        self.not_ours = Cost()  # of this process, used for something else
        # seconds, also of ended ones: nobody waits for Spark's processes of Python
        self.threads: dict[tuple[int, str], float] = {}
        self.processes: dict[tuple[int, float], float] = {}

    def now(self) -> Cost:
        mine = Cost(time.perf_counter(), time.process_time()) - self.not_ours
        return mine + self.of_java() if self.spark else mine

    def of_java(self) -> Cost:
        context = self.spark.sparkContext
        java = psutil.Process(context._gateway.proc.pid)
        self.processes.update(of_processes(java))
        cpu_s = sum(self.processes.values())
        self.threads.update(of_threads(java.pid))
        store = context._jsc.sc().statusStore()
        return Cost(
            0.0,
            cpu_s,
            self.of(COMPILERS),
            self.of(COLLECTORS),
            tasks_of(context, store),
            float(store.jobsList(None).size()),
        )

    def of(self, names: tuple[str, ...]) -> float:
        every = self.threads.items()
        return sum(used for (_, name), used in every if name.startswith(names))


def tasks_of(context: Any, store: Any) -> float:
    """Seconds of the tasks of all stages."""
    none = context._gateway.new_array(context._jvm.double, 0)
    of_any = context._jvm.java.util.ArrayList()
    told = {"details": False, "withSummaries": False}
    stages = store.stageList(None, *told.values(), none, of_any)
    every = (stages.apply(n) for n in range(stages.size()))
    ns = sum(one.executorCpuTime() + one.executorDeserializeCpuTime() for one in every)
    return float(ns) / 1e9


def of_processes(java: psutil.Process) -> Iterator[tuple[tuple[int, float], float]]:
    """A process and all below it, by number and time of start, and seconds that each
    used."""
    for one in [java, *java.children(recursive=True)]:
        with suppress(psutil.Error):  # it has just ended
            used = one.cpu_times()
            yield (one.pid, one.create_time()), used.user + used.system


def of_threads(pid: int) -> Iterator[tuple[tuple[int, str], float]]:
    """Each thread of a process, by number and name, and seconds that it used."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # it has just ended
            number, _, rest = stat.read_text().partition(" (")
            name, _, fields = rest.rpartition(") ")
            user, system = fields.split()[11:13]
            yield (int(number), name), (int(user) + int(system)) / TICKS_A_S
