"""Definitions of RabbitMQ: ``rabbitmqctl export_definitions``, or of its management.

An exchange becomes an address. A queue that is bound to it becomes a queue of that
address; routing keys become its selector, on the subject of messages, which is the
routing key, as RabbitMQ itself maps it for AMQP 1.0. A queue without bindings, which
senders name, gets an address of its own name.

Source:
    RabbitMQ, "Schema Definition Export and Import", "Policies", "Dead Letter
    Exchanges", "Time-To-Live and Expiration", "Queue Length Limit", "Alternate
    Exchanges"; AMQP 0-9-1, "Exchange Types".
"""

from __future__ import annotations

import json
from typing import Any

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.bindings import convert_bindings
from broker.declarations.converters.rabbitmq.definitions import (
    CLASSIC,
    OPERATOR,
    DefinedPolicy,
    RabbitDefinitions,
)
from broker.declarations.converters.rabbitmq.endings import convert_endings
from broker.declarations.converters.rabbitmq.exchanges import (
    convert_alternates,
    convert_exchanges,
)
from broker.declarations.converters.rabbitmq.queues import RabbitQueues, convert_queues
from broker.declarations.converters.rabbitmq.rights import convert_rights
from broker.errors.settings import WrongSettings
from broker.formats.inventory import Inventory, Path, paths_of

ABOUT_IT = {  # keys that describe the export itself
    *("rabbit_version", "rabbitmq_version", "product_name", "product_version"),
    *("explanation", "original_vhost_name", "original_cluster_name"),
}
NOUNS = {
    "queues": "queue",
    "exchanges": "exchange",
    "policies": "policy",
    "operator_policies": "operator policy",
    "users": "user",
    "vhosts": "virtual host",
    "global_parameters": "global parameter",
}
IDS = {"cluster_name", "internal_cluster_id", "cluster_tags"}
GROUPS = ("arguments", "definition", "value")
LINK = "Make it a link of a bridge (docs/bridges.md)."
UNLIMITED = (
    "RabbitMQ redelivers from classic queues without limit. Here a message that failed"
    " 10 times becomes a dead letter, or is discarded where its address has none: set"
    " max_delivery_attempts of the address, or -1 for no limit."
)
OF_HOST = "A virtual host is a prefix of names here, without limits (docs/rights.md)."
OF_POLICIES = ("name", "vhost", "pattern", "apply-to", "priority")
COMPONENTS = {
    "shovel": LINK,
    "federation": LINK,
    "federation-upstream": LINK,
    "federation-upstream-set": LINK,
    "vhost-limits": "There are no quotas here; a database of its own has its own disk.",
}


def convert(text: str) -> Converted:
    """
    Raises:
        WrongSettings: it is no document of definitions.
    """
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise WrongSettings("", f"This is no JSON: {error}.") from None
    if not isinstance(document, dict):
        raise WrongSettings("", "This is no object.")
    given = RabbitDefinitions(document)
    place = DefinitionPlaces(document)
    found = Converted(Inventory(paths_of(document), place=place))
    found.parts.default(*(path for path in found.parts.paths if is_empty(path, place)))
    found.parts.default(*((one,) for one in ABOUT_IT if (one,) in found.parts.paths))
    queues = RabbitQueues(given, found)
    convert_exchanges(queues, found)
    convert_queues(queues, found)
    letters = convert_endings(queues, found)
    convert_alternates(queues, found)
    convert_bindings(queues, letters, found)
    convert_rights(given, found)
    name_others(given, place, found)
    settle_policies(given, found)
    if any(one.kind == CLASSIC for one in queues.by_name.values()):
        found.notes.append(UNLIMITED)
    return found


class DefinitionPlaces:
    """Paths in words: ``queue orders, x-overflow``."""

    def __init__(self, document: Any) -> None:
        self.document = document

    def value(self, path: Path) -> Any:
        value = self.document
        for one in path:
            value = value[one]
        return value

    def __call__(self, path: Path) -> str:
        if len(path) < 2 or not isinstance(path[1], int):
            return ", ".join(map(str, path))
        row = self.value(path[:2])
        if path[-3:-2] == ("definition",):  # a list of pairs [name, value]
            path = (*path[:-2], self.value((*path[:-1], 0)))
        within = [str(one) for one in path[2:] if one not in GROUPS]
        return ", ".join([self.named(str(path[0]), row), *within])

    def named(self, part: str, row: Any) -> str:
        host = row.get("vhost", "/")
        there = "" if host == "/" or part == "vhosts" else f" of {host}"
        if part == "bindings":
            return f"binding of {row.get('destination')} to {row.get('source')}{there}"
        if part in ("permissions", "topic_permissions"):
            return f"{part.removesuffix('s')} of {row.get('user')} on {host}"
        noun = NOUNS.get(part) or str(row.get("component", part)).replace("_", " ")
        return f"{noun} {row.get('name', '')}{there}"


def is_empty(path: Path, places: DefinitionPlaces) -> bool:
    return places.value(path) in ({}, [])


def name_others(
    given: RabbitDefinitions, place: DefinitionPlaces, found: Converted
) -> None:
    """Name parts in comments that are neither queues nor exchanges; convert virtual
    hosts."""
    for one in given.rows("vhosts"):
        named = [path for path in one.parts("name") if path in found.parts.paths]
        is_prefix = given.has_several and one.values.get("name") != "/"
        (found.parts.take if is_prefix else found.parts.default)(*named)
        found.parts.default(*one.parts("default_queue_type", "metadata", "tracing"))
        found.parts.default(*(p for p in one.parts() if place.value(p) == ""))
        settled = found.parts.taken | found.parts.defaults
        if left := [path for path in one.parts() if path not in settled]:
            found.parts.name(OF_HOST, *left)
    for one in given.rows("users"):
        found.parts.name(
            "Create the user, and a credential (docs/rights.md): passwords and tags are"
            " not taken over.",
            one.path,
        )
    for one in given.rows("parameters"):
        component = str(one.values.get("component", ""))
        if component in COMPONENTS:
            found.parts.name(COMPONENTS[component], one.path)
    for one in given.rows("global_parameters"):
        if one.values.get("name") in IDS:
            found.parts.default(*one.parts())


def settle_policies(given: RabbitDefinitions, found: Converted) -> None:
    """Note policies that apply as converted; comments name others, and overridden
    values."""
    for one in (*given.policies, *given.operators):
        if one.applied:
            found.parts.take(*one.row.parts(*OF_POLICIES))
            paths = [p for each in one.definition.values() for p in each.sources]
            if overridden := [p for p in paths if p not in given.effective]:
                why = "Where it applies, an argument or a lower limit decides."
                found.parts.name(why, *overridden)
        else:
            found.parts.name(why_not(one), one.row.path)
    for row in given.rows("parameters"):
        if row.values.get("component") == OPERATOR:
            found.parts.take(*row.parts("component", "name", "vhost"))


def why_not(policy: DefinedPolicy) -> str:
    if policy.pattern.found is None:
        return "Its regular expression cannot be read here. Set what it says by hand."
    return "It applies to nothing in this file, or one of higher priority does."
