"""The rows of an export of RabbitMQ's definitions, and which policies apply to them.

Source:
    RabbitMQ, "Policies": the one of the highest priority applies; "Operator Policies":
    the lower of two limits applies; rabbit_policy.erl and rabbit_policies.erl.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from broker.declarations.converters.rabbitmq.erlang_patterns import NamePattern
from broker.errors.settings import WrongSettings
from broker.formats.inventory import Path, paths_of

CLASSIC, QUORUM, STREAM, EXCHANGE = "classic", "quorum", "stream", "exchange"
FITS: Mapping[str, set[str]] = {  # kinds of objects, by the value of ``apply-to``
    "all": {CLASSIC, QUORUM, STREAM, EXCHANGE},
    "queues": {CLASSIC, QUORUM, STREAM},
    "classic_queues": {CLASSIC},
    "quorum_queues": {QUORUM},
    "streams": {STREAM},
    "exchanges": {EXCHANGE},
}
# Limits: of the values in an argument, a policy and an operator policy, the lowest
# applies.
LIMITS = {
    *("message-ttl", "max-length", "max-length-bytes", "expires", "delivery-limit"),
    *("max-in-memory-length", "max-in-memory-bytes"),
}
OPERATOR = "operator_policy"  # component of parameters that are operator policies


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """An object of the document, and where it stands."""

    path: Path
    values: Mapping[str, Any]

    def text(self, key: str, default: str | None = None) -> str:
        """
        Raises:
            WrongSettings: there is no such text.
        """
        value = self.values.get(key, default)
        if not isinstance(value, str):
            where = " ".join(map(str, (*self.path, key)))
            raise WrongSettings(where, f"It must be a text, not {value!r}.")
        return value

    def pairs(self, key: str) -> dict[str, tuple[Any, Path]]:
        """The values of an object within the row, each with its path. Parameters have
        lists of pairs."""
        given, at = self.values.get(key) or {}, (*self.path, key)
        if isinstance(given, list):
            pairs = [(n, one) for n, one in enumerate(given) if is_pair(one)]
            return {one[0]: (one[1], (*at, n, 1)) for n, one in pairs}
        if not isinstance(given, dict):
            return {}
        return {name: (value, (*at, name)) for name, value in given.items()}

    def parts(self, *keys: str) -> Iterator[Path]:
        """The paths of all values below some keys, or below all keys."""
        for key in keys or self.values:
            if key in self.values:
                yield from paths_of(self.values[key], (*self.path, key))


def is_pair(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2 and isinstance(one[0], str)


@dataclass(frozen=True, slots=True)
class Argument:
    """A value that is in effect, and the parts of the file that set or limit it."""

    value: Any
    sources: Sequence[Path]


@dataclass(frozen=True, slots=True)
class DefinedPolicy:
    """A policy of users or operators."""

    row: DefinitionRow  # the object of the document
    host: str
    pattern: NamePattern
    fits: set[str]
    priority: int
    definition: Mapping[str, Argument]
    # Names of the queues and exchanges to which it applies.
    applied: list[str] = field(default_factory=list)

    def matches(self, row: DefinitionRow, kind: str) -> bool:
        is_there = self.host == row.text("vhost", "/")
        return is_there and kind in self.fits and self.pattern.matches(row.text("name"))


class RabbitDefinitions:
    """The parts of a document; names have the prefix of their virtual host, if there
    are several."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.queues, self.exchanges = self.rows("queues"), self.rows("exchanges")
        objects = [*self.queues, *self.exchanges]
        rows = objects or self.rows("permissions")
        self.hosts = {one.text("vhost", "/") for one in rows}
        self.has_several = len(self.hosts) > 1 and bool(objects)
        self.effective: set[Path] = set()  # parts whose value has an effect
        self.operators: list[DefinedPolicy] = []
        for one in self.rows("parameters"):
            value = one.values.get("value")
            if one.values.get("component") == OPERATOR and isinstance(value, dict):
                row = DefinitionRow((*one.path, "value"), value)
                self.operators.append(policy(row, one.text("vhost", "/")))
        own = self.rows("operator_policies")
        self.operators += [policy(one, one.text("vhost", "/")) for one in own]
        self.policies = [
            policy(one, one.text("vhost", "/")) for one in self.rows("policies")
        ]

    def rows(self, part: str) -> list[DefinitionRow]:
        """
        Raises:
            WrongSettings: it is no list of objects.
        """
        rows = self.document.get(part) or []
        if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
            raise WrongSettings(part, "It must be a list of objects.")
        return [DefinitionRow((part, n), one) for n, one in enumerate(rows)]

    def name(self, row: DefinitionRow, name: str) -> str:
        """The name here for a name in the virtual host of a row."""
        host = row.text("vhost", "/")
        return f"{host}.{name}" if self.has_several and host != "/" else name

    def own_name(self, row: DefinitionRow) -> str:
        return self.name(row, row.text("name"))

    @cached_property
    def bindings(self) -> Mapping[str, list[DefinitionRow]]:
        """Bindings of queues to exchanges, by the names of queues."""
        found: dict[str, list[DefinitionRow]] = defaultdict(list)
        for one in self.rows("bindings"):
            if one.text("destination_type", "queue") == "queue" and one.text("source"):
                found[self.name(one, one.text("destination"))].append(one)
        return found

    def type_of(self, queue: DefinitionRow) -> str:
        """Classic, quorum or stream."""
        said = queue.pairs("arguments").get("x-queue-type", (None, ()))[0]
        return str(said or queue.values.get("type") or self.usual_type(queue))

    def usual_type(self, queue: DefinitionRow) -> str:
        """The type of queues that name no type, in the virtual host of a queue."""
        return next((str(value) for value, _ in self.usual_types(queue)), CLASSIC)

    def usual_types(self, queue: DefinitionRow) -> Iterator[tuple[Any, Path]]:
        """That type as it is set in the file, with the paths, the strongest first."""
        host, key = queue.text("vhost", "/"), "default_queue_type"
        for one in self.rows("vhosts"):
            if one.values.get("name") == host:
                metadata = one.pairs("metadata").get(key, (None, ()))
                for value, path in ((one.values.get(key), (*one.path, key)), metadata):
                    if value and value != "undefined":
                        yield value, path

    def says_type(self, queue: DefinitionRow) -> list[Path]:
        """The part of the file that sets the type of a queue, if there is one."""
        said = queue.pairs("arguments").get("x-queue-type")
        if said or queue.values.get("type"):
            return [said[1]] if said else [*queue.parts("type")]
        return [path for _, path in self.usual_types(queue)][:1]

    def arguments(self, row: DefinitionRow, kind: str) -> dict[str, Argument]:
        """The arguments in effect for a queue or an exchange, by name without
        ``x-``."""
        found: dict[str, Argument] = {}
        for policies in (self.policies, self.operators):
            fitting = [one for one in policies if one.matches(row, kind)]
            if fitting:
                best = max(fitting, key=lambda one: one.priority)
                best.applied.append(self.own_name(row))
                for name, argument in best.definition.items():
                    found[name] = of_both(name, found.get(name), argument)
        for key, (value, path) in row.pairs("arguments").items():
            name = key.removeprefix("x-")
            found[name] = of_both(name, found.get(name), Argument(value, [path]))
        self.effective.update(path for one in found.values() for path in one.sources)
        return found


def of_both(name: str, general: Argument | None, own: Argument) -> Argument:
    """What is in effect of two values: the lower of two limits, else the second one.
    An unlimited number of deliveries is -1."""
    if general is None:
        return own
    values = general.value, own.value
    if name not in LIMITS or any(type(one) is not int for one in values):
        return own
    unlimited = name == "delivery-limit" and min(values) < 0
    value = max(values) if unlimited else min(values)
    return Argument(value, [*general.sources, *own.sources])


def beside(path: Path) -> list[Path]:
    """The path of a value's name, if both are a pair in a list."""
    return [(*path[:-1], 0)] if path[-1] == 1 else []


def policy(row: DefinitionRow, host: str) -> DefinedPolicy:
    said = row.values.get("priority", 0)
    priority = said if type(said) is int else 0
    definition = {
        name: Argument(value, [path, *beside(path)])
        for name, (value, path) in row.pairs("definition").items()
    }
    fits = FITS.get(row.text("apply-to", "all"), set())
    pattern = NamePattern.of(row.text("pattern", ""))
    return DefinedPolicy(row, host, pattern, fits, priority, definition)
