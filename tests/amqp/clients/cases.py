"""What clients expect of a broker, by number, and which clients have shown it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

CASES = {
    1: "bodies, properties, priority and ids survive",
    2: "unsettled sends are confirmed once committed",
    3: "settled senders and receivers",
    4: "each outcome; rejected is a dead letter with the reason",
    5: "the consumer chooses when it is redelivered",
    6: "undeliverable here goes to another consumer",
    7: "transacted puts: invisible before, gone after a rollback",
    8: "transacted gets: same order and counted after a rollback",
    9: "getting and putting are one transaction",
    10: "what ends a client rolls its transaction back",
    11: "a commit that fails is told, and the client goes on",
    12: "poison: attempts with a delay, then a dead letter",
    13: "a client that closes counts what it had seen",
    14: "releasing again and again is bounded",
    15: "browsing leaves messages, takes a selector, and ends",
    16: "selectors, echoed; a bad one is refused",
    17: "credit is respected; draining; waiting with a timeout",
    18: "what is unsettled returns in order, uncounted on close",
    19: "temporary queues; request and reply; none but its owner gets",
    20: "the anonymous relay, with errors of each message",
    21: "topics; durable and shared subscriptions",
    22: "delivery delay; what has expired is a readable dead letter",
    23: "errors leave the connection in order",
    24: "passwords, TLS and certificates",
    25: "a container id that is in use is refused, and free later",
    26: "large messages; many sessions on a connection",
    27: "heartbeats; who is silent is closed",
    28: "odd tags, addresses, modes and formats",
    29: "a stuck consumer: bounded memory, nothing lost",
    30: "nonsense and bombs: the listener goes on",
    31: "clients connect anew to another listener",
}

SHOWN = pytest.StashKey["Shown"]()


@dataclass(eq=False)  # pytest keeps its plug-ins in sets
class Shown:
    """A plug-in of pytest: which cases of which clients passed, of those tried.

    It hears of them by reports only, so that other processes may run the tests.
    """

    cases: dict[str, tuple[str, list[int]]] = field(default_factory=dict)  # by test
    passed: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)  # reasons, by test or file

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skip(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, numbers in report.user_properties:
            if name == "cases":
                assert isinstance(numbers, list)
                self.cases[report.nodeid] = (client_of(report.nodeid), numbers)
        if report.failed:
            self.broken.add(report.nodeid)
        elif report.skipped:
            self.skip(report)
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def skip(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        assert isinstance(report.longrepr, tuple)
        self.skipped[report.nodeid] = report.longrepr[2].removeprefix("Skipped: ")

    def tried(self) -> dict[str, dict[int, bool]]:
        """By client: its cases, and whether all tests of them passed."""
        found: dict[str, dict[int, bool]] = defaultdict(dict)
        for test, (client, numbers) in self.cases.items():
            if test in self.passed | self.broken:
                is_good = test not in self.broken
                for number in numbers:
                    found[client][number] = found[client].get(number, True) and is_good
        return found

    def table(self) -> Iterable[str]:
        """A line for each client, and one for each that could not be tried."""
        for client, cases in sorted(self.tried().items()):
            good = [number for number, is_good in cases.items() if is_good]
            bad = sorted(set(cases) - set(good))
            line = f"{client:12} {len(good):2} of {len(cases):2} cases"
            yield line + (f"; BROKEN: {bad}" if bad else "") + f"  {spans(cases)}"
        for where, reason in sorted(self.skipped.items()):
            yield f"{client_of(where):12} not tried: {reason}"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "case(*numbers): the cases that a client shows")
    config.stash[SHOWN] = shown = Shown()
    config.pluginmanager.register(shown)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test of a client without a number would be missing in the table."""
    for item in items:
        if "tests/amqp/clients/" not in item.nodeid:
            continue
        numbers = [one for m in item.iter_markers("case") for one in m.args]
        if not set(numbers) <= CASES.keys() or not numbers:
            raise pytest.UsageError(f"{item.nodeid} shows no case, or an unknown one.")
        item.user_properties.append(("cases", numbers))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = list(terminalreporter.config.stash[SHOWN].table())
    if lines:
        terminalreporter.section("clients of AMQP 1.0")
        for line in lines:
            terminalreporter.write_line(line)


def client_of(nodeid: str) -> str:
    """Tests of a client are in files called after it: ``test_rhea_outcomes.py``."""
    name = nodeid.split("::")[0].rpartition("/")[2]
    return name.removeprefix("test_").removesuffix(".py").split("_")[0]


def spans(cases: Iterable[int]) -> str:
    """Numbers for people: ``1-3 7``."""
    runs: list[list[int]] = []
    for number in sorted(cases):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(
        f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs
    )
