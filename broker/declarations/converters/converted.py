"""What a converter collects.

It makes ``parts`` from all paths of the file (``broker.formats.inventory``), calls
``of`` with the path of what declares an object, and ``set`` with the paths of what says
the value of an attribute, which are taken over thereby. For every other part it calls
``parts.default``, or ``parts.name`` with the reason and what to do; it may leave the
rest, which is then named as not known. So nothing vanishes, and nothing is made that is
not in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.declarations.documents import quoted, toml
from broker.declarations.object_kind import Key, ObjectKind
from broker.declarations.planning import Declaration
from broker.errors.messages import InvalidSelector
from broker.formats.inventory import Inventory, Path
from broker.formats.quantities import write_count
from broker.formats.selectors.parsing import parse


@dataclass(slots=True)
class Converted:
    """Attributes by object, what they come from, and what is left out.

    ``notes`` are sentences that are about no part of the file.
    """

    parts: Inventory = field(default_factory=Inventory)
    objects: dict[tuple[ObjectKind, Key], dict[str, Any]] = field(default_factory=dict)
    sources: dict[tuple[ObjectKind, Key], Path] = field(default_factory=dict)
    absent: dict[tuple[ObjectKind, Key], bool] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rights: dict[str, tuple[dict[str, set[str]], list[Path]]] = field(
        default_factory=dict
    )

    def of(self, kind: ObjectKind, *key: str, source: Path) -> dict[str, Any]:
        """The attributes of an object, to be set; it is there from now on.

        Args:
            kind: the kind of object.
            key: its key.
            source: the part of the file that declares it, which is taken over.
        """
        self.parts.take(source)
        self.sources.setdefault((kind, key), source)
        return self.objects.setdefault((kind, key), {})

    def set(
        self, values: dict[str, Any], attribute: str, value: Any, *sources: Path
    ) -> None:
        """Set an attribute to a value, and note the parts of the file that have it as
        converted."""
        self.parts.take(*sources)
        values[attribute] = value

    def select(self, values: dict[str, Any], selector: str, whose: str) -> None:
        """Set the selector of a queue, if it can be read here."""
        try:
            parse(selector)
        except InvalidSelector as error:
            self.notes.append(f"{whose}: the filter {selector!r} is left out. {error}")
        else:
            values["selector"] = selector

    def grant(
        self, principal: str, pattern: str, may: Iterable[str], *sources: Path
    ) -> None:
        """Note rights, and the parts that give them: they are named, since the user or
        group may not exist here."""
        patterns, paths = self.rights.setdefault(principal, ({}, []))
        patterns.setdefault(pattern, set()).update(may)
        paths.extend(sources)

    def name_rights(self) -> None:
        """Add a comment for each principal: a table that grants all its rights."""
        for principal, (patterns, paths) in self.rights.items():
            lines = [f"{quoted(k)} = {toml(sorted(v))}" for k, v in patterns.items()]
            sentence = (
                f"To grant {principal} the same, make sure that it exists, and add:"
            )
            table = [sentence, f"[authorities.{quoted(principal)}]", *lines]
            self.parts.name("\n    ".join(table), *paths)
        self.rights.clear()

    @property
    def declarations(self) -> Sequence[Declaration]:
        made = [
            Declaration(kind, key, values, where=self.place(kind, key))
            for (kind, key), values in self.objects.items()
        ]
        return made + [
            Declaration(
                kind, key, absent=True, purge=purge, where=self.place(kind, key)
            )
            for (kind, key), purge in self.absent.items()
        ]

    def place(self, kind: ObjectKind, key: Key) -> str:
        """Where the file declares an object, in words."""
        source = self.sources.get((kind, key))
        return "" if source is None else self.parts.place(source)

    @property
    def summary(self) -> str:
        """The numbers of parts that were read and of objects that were made, in one
        line."""
        made = len(self.declarations)
        return f"{self.parts.counts} {write_count(made, 'object')} made."

    @property
    def comments(self) -> list[str]:
        """All sentences about parts that are left out, without duplicates."""
        return list(dict.fromkeys([*self.parts.comments(), *self.notes]))
