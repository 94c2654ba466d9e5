"""Rules and targets of alerts as kinds of objects that can be declared."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any, ClassVar

from django.db.models import QuerySet

from broker.alerts import editing, sight
from broker.bridges.config.kinds import SealedKind
from broker.declarations.attributes import Attribute
from broker.declarations.object_kind import Key, ObjectKind, Values, register
from broker.formats.english import english
from broker.models import AlertRule, AlertTarget

LISTS = ("targets", "escalate_to")  # attributes of a rule that list targets
TIMES = ("quiet_from", "quiet_until")


class TargetKind(SealedKind):
    name, plural, model, rank = "alert_target", "alert_targets", AlertTarget, 20
    read_only: ClassVar = {
        "told_at": datetime | None,  # time of the last notification that succeeded
        "error": str,  # error of the last notification; empty: it succeeded
        "error_at": datetime | None,
    }

    def __init__(self) -> None:
        super().__init__("kind", "address", "enabled", "zone", "critical_passes")
        for name in TIMES:
            field = AlertTarget._meta.get_field(name)
            one = Attribute(name, str, help=english(getattr(field, "help_text", "")))
            self.attributes = {**self.attributes, name: one}
        self.add_secret("secret", "Stored encrypted. E-mail needs none.")

    def values_of(self, row: AlertTarget) -> dict[str, Any]:
        values = super().values_of(row)
        for name in TIMES:
            if isinstance(at := values[name], time):
                values[name] = at.isoformat().removesuffix(":00")
        return values

    def fill(self, row: Any, values: Values) -> None:
        none = {name: None for name in TIMES if values.get(name) == ""}
        super().fill(row, {**values, **none})
        row.given_secret = values.get("secret") or ""

    def check(self, row: Any, where: str) -> None:
        """
        Raises:
            InvalidAlert: a field is wrong.
        """
        editing.check(row)
        editing.require(editing.faults_of_target(row, row.given_secret))
        if row.kind != AlertTarget.Kind.EMAIL and not row.secret:
            editing.require([("secret", editing.SECRETS[row.kind])])


class RuleKind(ObjectKind):
    name, plural, model, rank = "alert_rule", "alert_rules", AlertRule, 21
    view = sight.VIEW

    def __init__(self) -> None:
        super().__init__(
            "condition", "queues", "threshold", "within_s", "for_s", "severity",
            "escalate_after_s", "repeat_s", "enabled",
        )  # fmt: skip
        for name in LISTS:
            field = AlertRule._meta.get_field(name)
            words = f"Names of targets. {english(getattr(field, 'help_text', ''))}"
            one = Attribute(name, list, [], help=words)
            self.attributes = {**self.attributes, name: one}

    def rows(self) -> QuerySet[Any]:
        return super().rows().prefetch_related(*LISTS)

    def values_of(self, row: AlertRule) -> dict[str, Any]:
        return {
            name: [one.name for one in getattr(row, name).all()]
            if name in LISTS
            else getattr(row, name)
            for name in self.attributes
        }

    def fill(self, row: AlertRule, values: Values) -> None:
        super().fill(row, {k: v for k, v in values.items() if k not in LISTS})

    def check(self, row: AlertRule, where: str) -> None:
        """
        Raises:
            InvalidAlert: a field is wrong.
        """
        editing.check(row)
        editing.require(editing.faults_of_rule(row))

    def save(self, row: AlertRule, key: Key, values: Values) -> None:
        """
        Raises:
            NoSuchAlert: there is no such target.
        """
        super().save(row, key, values)
        for name in LISTS:
            if name in values:
                getattr(row, name).set(map(editing.target_named, values[name]))


TARGET = TargetKind()
RULE = RuleKind()
KINDS: tuple[ObjectKind, ...] = (TARGET, RULE)
register(*KINDS)
