"""What a converter collects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.declarations.documents import quoted, toml
from broker.declarations.kinds import Key, ObjectKind
from broker.declarations.planning import Declaration
from broker.errors.messages import InvalidSelector
from broker.formats.selectors.parsing import parse


@dataclass(slots=True)
class Converted:
    """Attributes by object, and sentences about what is left out."""

    objects: dict[tuple[ObjectKind, Key], dict[str, Any]] = field(default_factory=dict)
    absent: dict[tuple[ObjectKind, Key], bool] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def of(self, kind: ObjectKind, *key: str) -> dict[str, Any]:
        """The attributes of an object, to be set; it is there from now on."""
        return self.objects.setdefault((kind, key), {})

    def select(self, values: dict[str, Any], selector: str, whose: str) -> None:
        """Set the selector of a queue, if it can be read here."""
        try:
            parse(selector)
        except InvalidSelector as error:
            self.notes.append(f"{whose}: the filter {selector!r} is left out. {error}")
        else:
            values["selector"] = selector

    def grant(self, principal: str, pattern: str, may: Iterable[str]) -> None:
        """Note rights: the user or group may not exist here."""
        line = f"{quoted(pattern)} = {toml(sorted(set(may)))}"
        self.notes.append(
            f"To grant {principal} the same, make sure that it exists, and add:"
            f"\n    [authorities.{quoted(principal)}]\n    {line}"
        )

    @property
    def declarations(self) -> Sequence[Declaration]:
        made = [
            Declaration(kind, key, values)
            for (kind, key), values in self.objects.items()
        ]
        return made + [
            Declaration(kind, key, absent=True, purge=purge)
            for (kind, key), purge in self.absent.items()
        ]
