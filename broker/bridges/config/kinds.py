"""Bridges and their four parts as kinds of objects that can be declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from django.db.models import QuerySet

from broker.bridges import secrets
from broker.bridges.config import edits
from broker.bridges.config.documents import name_of
from broker.bridges.config.faults import Part
from broker.bridges.configured import ends_here
from broker.declarations.attributes import Attribute
from broker.declarations.object_kind import Key, ObjectKind, Values, register
from broker.errors.bridges import NoSuchBridge, NoSuchPart, SecretsLost
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)
from broker.security import authorities

ENDS = ("source_factory", "source", "target_factory", "target")


class SealedKind(ObjectKind):
    """A kind with one secret, which the field ``secret`` has encrypted."""

    def add_secret(self, name: str, help_text: str) -> None:
        one = Attribute(name, str, "", help=help_text, is_secret=True)
        self.attributes = {**self.attributes, name: one}
        self.secrets = frozenset({name})

    def secret_of(self, row: Any, name: str) -> str:
        try:
            return secrets.decrypt(row.secret, factory=str(row))
        except SecretsLost:
            return ""

    def fill(self, row: Any, values: Values) -> None:
        plain = dict(values)
        for name in self.secrets & plain.keys():
            row.secret = secrets.encrypt(plain.pop(name) or "")
        super().fill(row, plain)


class OfBridges(ObjectKind):
    """Bridges and their parts: edited one at a time, and valid as a whole."""

    def lock(self, key: Key, *, will_go: bool) -> None:
        """Lock the bridge against edits of it and of its parts."""
        list(Bridge.objects.select_for_update().filter(name=key[0]))

    def check(self, row: Part, where: str) -> None:
        """
        Raises:
            WrongBridge: it is invalid; with all faults.
        """
        edits.require_valid(row)

    def save(self, row: Part, key: Key, values: Values) -> None:
        edits.require_valid(row)
        row.save()

    def obstacle(self, row: Part, going: frozenset[tuple[str, Key]]) -> str:
        leaving = [
            one
            for kind in (LINK, DEAD_QUEUE)
            for one in kind.rows().filter(bridge=getattr(row, "bridge", row))
            if (kind.name, kind.key_of(one)) in going
        ]
        why = next(edits.reasons_to_keep(row, leaving), "")
        return why[:1].upper() + why[1:]


class BridgeKind(OfBridges):
    name, plural, model, rank = "bridge", "bridges", Bridge, 10


class PartKind(SealedKind, OfBridges):
    """A kind of parts of a bridge; its key is the names of the bridge and of the
    part."""

    keys = ("bridge", "name")
    # The attributes that name other parts of the bridge, each with the kind of its
    # part.
    named_kinds: ClassVar[dict[str, type[Part]]] = {}

    def order(self) -> Key:
        return ("bridge__name", self.keys[-1])

    def rows(self) -> QuerySet[Any]:
        return super().rows().select_related("bridge", *self.named_kinds)

    def key_of(self, row: Any) -> Key:
        return row.bridge.name, name_of(row)

    def named(self, key: Key) -> QuerySet[Any]:
        return self.rows().filter(bridge__name=key[0], **{self.keys[-1]: key[1]})

    def new(self, key: Key, where: str) -> Any:
        bridge = Bridge.objects.filter(name=key[0]).first() or Bridge(name=key[0])
        return self.model(bridge=bridge, **{self.keys[-1]: key[1]})

    def values_of(self, row: Any) -> dict[str, Any]:
        values = super().values_of(row)
        for name in self.named_kinds:
            part = getattr(row, name, None)
            values[name] = part and name_of(part)
        return values

    def fill(self, row: Any, values: Values) -> None:
        """Set the values of a row. A part that they name and that is not stored yet
        becomes a new, unsaved row."""
        own = {k: v for k, v in values.items() if k not in self.named_kinds}
        super().fill(row, own)
        for name, model in self.named_kinds.items():
            if wanted := values.get(name):
                column = "ref_name" if model is BridgeDestination else "name"
                place = {"bridge": row.bridge, column: wanted}
                stored = (
                    row.bridge.pk and model._default_manager.filter(**place).first()
                )
                setattr(row, name, stored or model(**place))
            elif name in values:
                setattr(row, f"{name}_id", None)

    def missing(self, row: Any) -> Part | None:
        """A part that a row refers to and that is not stored; None: all are stored."""
        found = (getattr(row, name, None) for name in ("bridge", *self.named_kinds))
        return next((one for one in found if one is not None and one.pk is None), None)

    def check(self, row: Any, where: str) -> None:
        if self.missing(row) is None:
            super().check(row, where)

    def save(self, row: Any, key: Key, values: Values) -> None:
        """
        Raises:
            NoSuchBridge, NoSuchPart: what it refers to does not exist.
            WrongBridge: it is invalid, or would make others so; with all faults.
        """
        lacking = self.missing(row)
        if isinstance(lacking, Bridge):
            raise NoSuchBridge(key[0])
        if lacking is not None:
            noun = lacking._meta.verbose_name_raw
            raise NoSuchPart(noun, name_of(lacking), key[0])
        super().save(row, key, values)


class FactoryKind(PartKind):
    name, plural = "connection_factory", "connection_factories"
    model, rank = ConnectionFactory, 11

    def __init__(self) -> None:
        super().__init__(
            "description", "provider", "url", "username", "properties", "lookup_name",
            "connect_attempts", "connect_interval_s", "idle_timeout_s", "multi_rm",
        )  # fmt: skip
        self.add_secret("password", "Stored encrypted; an empty one removes it.")


class DestinationKind(PartKind):
    name, plural, model, rank = "destination", "destinations", BridgeDestination, 12
    keys = ("bridge", "ref_name")


class LinkKind(PartKind):
    name, plural, model, rank = "link", "links", Link, 13
    named_kinds: ClassVar = {
        end: ConnectionFactory if "factory" in end else BridgeDestination
        for end in ENDS
    }

    def is_visible(self, user: authorities.Principal, row: Link) -> bool:
        return row in self.visible([row], user)

    def visible_rows(self, user: authorities.Principal) -> Iterator[Link]:
        yield from self.visible(self.rows(), user)

    def visible(self, rows: Iterable[Link], user: authorities.Principal) -> list[Link]:
        """The links whose queues at this broker the user may inquire. One query."""
        held = authorities.held_by(user)
        return [
            one
            for one in rows
            if all(held.on("inquire", queue) for queue in ends_here(one))
        ]


class DeadQueueKind(PartKind):
    name, plural = "dead_message_queue", "dead_message_queues"
    model, rank = DeadMessageQueue, 14
    named_kinds: ClassVar = {
        "factory": ConnectionFactory,
        "destination": BridgeDestination,
    }


BRIDGE = BridgeKind("description", "tag_messages", "log_transfers")
FACTORY = FactoryKind()
DESTINATION = DestinationKind(
    "description", "name", "kind", "lookup_name", "properties"
)
LINK = LinkKind(
    "description", "enabled", "transacted", "source_factory", "source",
    "source_description", "selector", "durable_name", "source_client_id",
    "target_factory", "target", "target_description", "stay_connected",
    "target_client_id", "retain_reply_to", "transformer", "properties",
    "transformer_time_limit_s", "transform_failure", "consume_on_transform_error",
    "on_send_failure", "duplicate_detection", "loop_guard", "batch",
)  # fmt: skip
DEAD_QUEUE = DeadQueueKind(
    "description", "position", "enabled", "factory", "destination", "stay_connected",
    "time_to_live_ms", "client_id", "send_attempts", "send_interval_s", "transformer",
    "properties",
)  # fmt: skip
KINDS: tuple[ObjectKind, ...] = (BRIDGE, FACTORY, DESTINATION, LINK, DEAD_QUEUE)
register(*KINDS)
