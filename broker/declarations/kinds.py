"""The kinds of objects that can be declared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from broker.config.address_settings import DEFAULTS
from broker.config.documents import MAY_BE_EMPTY
from broker.config.names import ensure_address
from broker.declarations.attributes import Attribute
from broker.declarations.object_kind import Key, ObjectKind, Values, register
from broker.errors.messages import InvalidSelector
from broker.errors.settings import ObjectInUse, WrongSettings
from broker.formats.selectors.parsing import parse
from broker.models import (
    Address,
    AddressSetting,
    Authority,
    ModelQueue,
    Queue,
    QueueAlias,
    RecurringMessage,
    RedactionRule,
)
from broker.security import authorities
from broker.security.authorities import ALL, FIELDS
from broker.security.redaction import targets

LIMITS = ("backout_threshold", "backout_queue", "max_depth", "max_message_bytes")


class AddressKind(ObjectKind):
    name, plural, model, rank = "address", "addresses", Address, 0

    def rows(self) -> QuerySet[Any]:
        kept = super().rows().filter(auto_created=False)
        passing = (Queue.Kind.TEMPORARY, Queue.Kind.INTERNAL)
        return kept.exclude(queues__kind__in=passing)

    def obstacle(self, row: Address, going: frozenset[tuple[str, Key]]) -> str:
        feeds = row.queues.order_by("name").values_list("name", flat=True)
        left = [one for one in feeds if ("queue", (one,)) not in going]
        if not left:
            return ""
        names = ", ".join(left[:5]) + (" …" if len(left) > 5 else "")
        return f"It feeds {names}. Delete its queues first."


class QueueKind(ObjectKind):
    name, plural, model, rank = "queue", "queues", Queue, 1

    def __init__(self) -> None:
        super().__init__(
            "routing_type", "description", "contact", "runbook", *LIMITS,
            "harden_backout", "counts_when_lost", "max_resubmits", "reason_above",
            "approval_above", "selector", "paused", "put_inhibited",
        )  # fmt: skip
        help_text = "The address that feeds it; by default the one of its own name."
        address = Attribute("address", str, None, help=help_text)
        self.attributes = {"address": address, **self.attributes}

    def named(self, key: Key) -> QuerySet[Any]:
        return super().named(key).select_related("address")

    def defaults(self, key: Key) -> dict[str, Any]:
        return super().defaults(key) | {"address": key[0]}

    def rows(self) -> QuerySet[Any]:
        kept = super().rows().filter(kind=Queue.Kind.LOCAL, auto_created=False)
        return kept.select_related("address")

    def values_of(self, row: Queue) -> dict[str, Any]:
        values = {name: getattr(row, name) for name in self.attributes}
        words = self.attributes["routing_type"].choices
        stored = row._meta.get_field("routing_type").choices or ()
        by_value = dict(zip((one for one, _ in stored), words, strict=True))
        has_one = row.address_id is not None
        values["address"] = row.address.name if has_one else None
        return values | {"routing_type": by_value[row.routing_type]}

    def fill(self, row: Queue, values: Values) -> None:
        plain = dict(values)
        plain.pop("address", None)
        if "routing_type" in plain:
            words = self.attributes["routing_type"].choices
            stored = row._meta.get_field("routing_type").choices or ()
            index = words.index(plain["routing_type"])
            plain["routing_type"] = [one for one, _ in stored][index]
        super().fill(row, plain)

    def is_visible(self, user: authorities.Principal, row: Queue) -> bool:
        authorities.require(user, "inquire", row.name)
        return True

    def visible_rows(self, user: authorities.Principal) -> Iterator[Queue]:
        held = authorities.held_by(user)
        yield from (one for one in self.rows() if held.on("inquire", one.name))

    def check(self, row: Queue, where: str) -> None:
        super().check(row, where)
        try:
            if row.selector:
                parse(row.selector)
        except InvalidSelector as error:
            raise WrongSettings(f"{where}, selector", str(error)) from None

    def save(self, row: Queue, key: Key, values: Values) -> None:
        if "address" in values:
            row.address = ensure_address(values["address"])
        super().save(row, key, values)

    def obstacle(self, row: Queue, going: frozenset[tuple[str, Key]]) -> str:
        if row.kind == Queue.Kind.MANAGED:
            return "It holds the messages of a subscription. Unsubscribe instead."
        if row.kind != Queue.Kind.LOCAL:
            return "It belongs to a client, or to the broker, which deletes it."
        return ""


class AliasKind(ObjectKind):
    name, plural, model, rank = "alias", "aliases", QueueAlias, 2
    bare = "target"


class ModelKind(ObjectKind):
    name, plural, model, rank = "model", "models", ModelQueue, 3


class SettingKind(ObjectKind):
    name, plural, model, rank = "setting", "settings", AddressSetting, 4
    keys = ("match",)

    def check(self, row: AddressSetting, where: str) -> None:
        super().check(row, where)
        for name in self.attributes.keys() - MAY_BE_EMPTY:
            if getattr(row, name) == "":
                raise WrongSettings(f"{where}, {name}", "It cannot be empty.")


class AuthorityKind(ObjectKind):
    """Keys are a principal, ``user:NAME`` or ``group:NAME``, and a pattern."""

    name, plural, model, rank = "authority", "authorities", Authority, 6
    keys, bare = ("principal", "pattern"), "may"

    def __init__(self) -> None:
        help_text = f"What the principal may do there: {', '.join(ALL)}."
        self.attributes = {"may": Attribute("may", list, [], ALL, help_text)}

    def order(self) -> Key:
        return "group__name", f"user__{self.login()}", "pattern"

    def login(self) -> str:
        """The field of users that has their names."""
        return str(get_user_model().USERNAME_FIELD)

    def rows(self) -> QuerySet[Any]:
        return super().rows().select_related("user", "group")

    def key_of(self, row: Authority) -> Key:
        if row.group is not None:
            return f"group:{row.group.name}", row.pattern
        assert row.user is not None
        return f"user:{row.user.get_username()}", row.pattern

    def named(self, key: Key) -> QuerySet[Any]:
        whose, _, name = key[0].partition(":")
        field = f"user__{self.login()}" if whose == "user" else "group__name"
        return self.rows().filter(**{field: name}, pattern=key[1])

    def new(self, key: Key, where: str) -> Authority:
        whose, _, name = key[0].partition(":")
        if whose not in ("user", "group") or not name:
            raise WrongSettings(
                where, f"{key[0]!r} must be user:NAME or group:NAME, as “group:viewer”."
            )
        return Authority(pattern=key[1])

    def values_of(self, row: Authority) -> dict[str, Any]:
        return {"may": sorted(one for one in ALL if getattr(row, FIELDS[one]))}

    def fill(self, row: Authority, values: Values) -> None:
        for name, field in FIELDS.items():
            if "may" in values:
                setattr(row, field, name in values["may"])

    def check(self, row: Authority, where: str) -> None:
        try:
            row.clean_fields(exclude=self.references())
        except ValidationError as error:
            raise WrongSettings(where, error.messages[0]) from None

    def save(self, row: Authority, key: Key, values: Values) -> None:
        if row._state.adding:
            whose, _, name = key[0].partition(":")
            owners = get_user_model() if whose == "user" else Group
            field = self.login() if whose == "user" else "name"
            owner = owners._default_manager.filter(**{field: name}).first()
            if owner is None:
                why = f"There is no {whose} {name!r}. Create the {whose} first."
                raise ObjectInUse(self.name, " ".join(key), why)
            setattr(row, whose, owner)
        super().save(row, key, values)


class RedactionKind(ObjectKind):
    name, plural, model, rank = "redaction_rule", "redaction_rules", RedactionRule, 7
    read_only: ClassVar = {"revision": int, "changed_at": datetime}

    def check(self, row: RedactionRule, where: str) -> None:
        super().check(row, where)
        try:
            targets.read(row.kind, row.target)
        except ValueError as error:
            raise WrongSettings(f"{where}, target", str(error)) from None


class RecurringKind(ObjectKind):
    name, plural = "recurring_message", "recurring_messages"
    model, rank, word = RecurringMessage, 8, "recurring"
    read_only: ClassVar = {
        "next_at": datetime | None,  # None: the recurring message is switched off
        "last_at": datetime | None,  # when the last message was due
        "problem": str,  # why the last message was not put; empty: it was
    }

    def __init__(self, *fields: str) -> None:
        super().__init__(*fields)
        for name in ("body", "properties"):
            one = replace(self.attributes[name], is_content=True)
            self.attributes = {**self.attributes, name: one}

    def is_visible(self, user: authorities.Principal, row: RecurringMessage) -> bool:
        return authorities.may(user, "inquire", row.address)

    def visible_rows(self, user: authorities.Principal) -> Iterator[RecurringMessage]:
        held = authorities.held_by(user)
        yield from (one for one in self.rows() if held.on("inquire", one.address))

    def require_authorities(
        self, user: authorities.Principal, row: Any, values: Values
    ) -> None:
        """Refuse a user who may not put the message: later the broker puts it in the
        user's place."""
        address = values.get("address", row.address if row else "")
        authorities.require(user, "put", address)


ADDRESS = AddressKind("durable_model", "nondurable_model")
QUEUE, ALIAS = QueueKind(), AliasKind("target")
MODEL = ModelKind("permanent", *LIMITS)
SETTING, AUTHORITY = SettingKind(*DEFAULTS), AuthorityKind()
REDACTION = RedactionKind("queues", "kind", "target", "is_active")
RECURRING = RecurringKind(
    "address", "body", "content_type", "subject", "properties", "priority", "crontab",
    "time_zone", "every_s", "is_enabled",
)  # fmt: skip
register(ADDRESS, QUEUE, ALIAS, MODEL, SETTING, AUTHORITY, REDACTION, RECURRING)
