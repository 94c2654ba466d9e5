"""What can be run: the parts, their runs, and the phases of these.

The shapes are those of the full sweep of the harness (``scripts/run_full_sweep.sh``):
phases, rates, workers, replicas. Only their length is chosen here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

FULL = ("backout", "awa-python", "procrastinate", "pgmq")
THROUGHPUT = (*FULL, "absurd", "pgque", "pgboss")
FAILING = ("backout", "awa-python")  # adapters that can fail as they are told
MINUTES = 3.0
WARMS_UP_S = 30
BATCH = {"PRODUCER_BATCH_MAX": "128"}
# The harness paces fixed rates by lines that ignore the higher rate of a phase;
# adapters that pace themselves follow it.
OWN_PACE = {**BATCH, "PRODUCER_PACING": "adapter"}


@dataclass(frozen=True)
class Run:
    """One run of the harness for one system.

    Attributes:
        phases: kinds of phases in the harness's words, with their shares of the
            longest one.
        workers: of each replica.
        rate: messages a second of each replica; of a target depth the most.
        depth: the depth that the producer keeps; None: a fixed rate.
    """

    name: str
    phases: Sequence[tuple[str, str, float]]
    workers: int = 32
    rate: int = 800
    depth: int | None = None
    replicas: int = 1
    environment: Mapping[str, str] = field(default_factory=lambda: BATCH)

    def arguments(self, minutes: float) -> list[str]:
        """The arguments of the harness's command ``run``."""
        longest_s = minutes * 60
        warms_up_s = min(WARMS_UP_S, max(5, round(longest_s / 2)))
        phases = [("warmup", "warmup", warms_up_s)]
        phases += [
            (label, kind, max(5, round(longest_s * share)))
            for label, kind, share in self.phases
        ]
        mode = ["--producer-mode", "fixed"]
        if self.depth is not None:
            mode = ["--producer-mode=depth-target", f"--target-depth={self.depth}"]
        return [
            *(f"--phase={label}={kind}:{s}s" for label, kind, s in phases),
            *mode,
            f"--producer-rate={self.rate}",
            f"--worker-count={self.workers}",
            f"--replicas={self.replicas}",
        ]

    def seconds(self, minutes: float) -> float:
        """How long all phases take."""
        shares = sum(max(5, minutes * 60 * share) for *_, share in self.phases)
        return WARMS_UP_S + shares


def throughput() -> list[Run]:
    return [
        Run(
            name=f"{workers} workers, {'no work' if work == '0' else work + ' ms'}",
            phases=[("clean", "clean", 1)],
            workers=workers,
            rate=50_000,
            depth=4000,
            environment={**BATCH, "JOB_WORK_MS": work},
        )
        for work in ("0", "1")
        for workers in (4, 16, 64, 256)
    ]


def latency() -> list[Run]:
    return [
        Run(f"{rate} a second", [("clean", "clean", 1)], rate=rate)
        for rate in (100, 800)
    ]


def pressure() -> list[Run]:
    """A fourth each before and after, of what presses."""
    kinds = {
        "idle in transaction": ("idle_1", "idle-in-tx", 0.75, 800, 32),
        "sustained high load": ("pressure_1", "high-load", 0.5, 800, 32),
        "active readers": ("readers_1", "active-readers", 0.5, 800, 32),
        "burst": ("pressure_1", "high-load", 0.8, 1200, 64),
    }
    return [
        Run(
            name,
            [
                ("clean_1", "clean", 0.25),
                (label, kind, 1),
                ("recovery_1", "clean", back),
            ],
            workers=workers,
            rate=rate,
            environment=OWN_PACE,
        )
        for name, (label, kind, back, rate, workers) in kinds.items()
    ]


def held() -> list[Run]:
    """A transaction that stays open for long, at half of the load."""
    before, after = ("before", "clean", 0.1), ("after", "clean", 0.1)
    phases = [before, ("held", "idle-in-tx", 1), after]
    return [Run("held transaction", phases, rate=400, environment=OWN_PACE)]


def chaos() -> list[Run]:
    """The shapes of the harness's scenarios of these names."""
    single = {
        "chaos_postgres_restart": ("restart", "postgres-restart"),
        "chaos_pg_backend_kill": ("kills", "pg-backend-kill(rate=2)"),
        "chaos_pool_exhaustion": ("exhaustion", "pool-exhaustion(idle_conns=300)"),
    }
    before, after = ("baseline", "clean", 1.0), ("recovery", "clean", 1.0)
    runs = [
        Run(name, [before, (label, kind, 1), after], rate=600)
        for name, (label, kind) in single.items()
    ]
    killed = [
        ("kill", "kill-worker(instance=0)", 1.0),
        ("restart", "start-worker(instance=0)", 1.0),
    ]
    repeated = ("repeated", "repeated-kill(instance=0,period=20s)", 2.0)
    return [
        *runs,
        Run("chaos_crash_recovery", [before, *killed, after], rate=300, replicas=2),
        Run("chaos_repeated_kills", [before, repeated, after], rate=300, replicas=2),
    ]


def dead_letters() -> list[Run]:
    always = {
        "WORKER_FAIL_MODE": "terminal-always",
        "BENCH_DLQ_ENABLED": "1",
        "JOB_MAX_ATTEMPTS": "1",
    }
    first = {
        "WORKER_FAIL_MODE": "retryable-first",
        "JOB_FAIL_FIRST_MOD": "2",
        "JOB_MAX_ATTEMPTS": "3",
    }
    return [
        Run("all die", [("clean", "clean", 1)], environment=OWN_PACE | always),
        Run("half fail once", [("clean", "clean", 1)], environment=OWN_PACE | first),
    ]


def soak() -> list[Run]:
    return [Run("soak", [("clean", "clean", 1)], workers=128)]


@dataclass(frozen=True)
class Part:
    """Runs that belong together."""

    runs: Callable[[], list[Run]]
    systems: Sequence[str]
    minutes: float = MINUTES  # of the longest phase


PARTS = {
    "throughput": Part(throughput, THROUGHPUT),
    "latency": Part(latency, FULL),
    "pressure": Part(pressure, FULL, minutes=4),
    "held": Part(held, FULL, minutes=30),
    "chaos": Part(chaos, FULL, minutes=1),
    "dead-letters": Part(dead_letters, FAILING),
    "soak": Part(soak, FULL, minutes=5),
}
