"""A kind of object that can be declared: how its rows are found, read and written.

Kinds register themselves, those of an application in its module ``kinds``. REST, the
command line and ``backout.toml`` have all that are registered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, ClassVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import Model, QuerySet

from broker.config.names import other_of_name
from broker.declarations.attributes import Attribute, of_field
from broker.errors.settings import WrongSettings
from broker.security import authorities

Key = tuple[str, ...]  # the name of an object, or the parts of its name


Values = Mapping[str, Any]  # values by name of the attribute


class ObjectKind:
    """A kind of object: how its rows are found, read and written.

    The methods here serve a model with a unique name and plain fields.
    """

    name: ClassVar[str]
    plural: ClassVar[str]
    model: ClassVar[type[Model]]
    keys: ClassVar[Key] = ("name",)
    # In a document, the attribute that can be given as a plain value, ``name = value``,
    # instead of a table ``name = {attribute = value}``; empty: none.
    bare: ClassVar[str] = ""
    # Kinds are created in the order of ranks, and deleted in the opposite order.
    rank: ClassVar[int]
    attributes: Mapping[str, Attribute]
    can_be_pruned = True
    secrets: frozenset[str] = frozenset()  # names of secret attributes
    # Types of fields that are shown, but are no attributes, by name.
    read_only: ClassVar[Mapping[str, Any]] = {}
    view: ClassVar[str] = ""  # permission to see the objects; empty: the model's

    def __init__(self, *fields: str) -> None:
        self.attributes = {name: of_field(self.model, name) for name in fields}

    @property
    def noun(self) -> str:
        """What people call an object of this kind."""
        return self.name.replace("_", " ")

    @property
    def word(self) -> str:
        """The word of the command line."""
        return self.name.replace("_", "-")

    def rows(self) -> QuerySet[Any]:
        """The objects that people declare: neither temporary nor auto-created ones."""
        return self.model._default_manager.order_by(*self.order())

    def order(self) -> Key:
        return self.keys

    def key_of(self, row: Any) -> Key:
        return tuple(getattr(row, one) for one in self.keys)

    def named(self, key: Key) -> QuerySet[Any]:
        """The row of a key, of any origin."""
        wanted = dict(zip(self.keys, key, strict=True))
        return self.model._default_manager.filter(**wanted)

    def defaults(self, key: Key) -> dict[str, Any]:
        """All attributes but secrets of an object of which only the key is known."""
        return {
            name: one.default
            for name, one in self.attributes.items()
            if not one.is_secret
        }

    def new(self, key: Key, where: str) -> Any:
        """A row that is not stored yet."""
        return self.model(**dict(zip(self.keys, key, strict=True)))

    def values_of(self, row: Any) -> dict[str, Any]:
        """The attributes of a row but secrets, as documents have them."""
        return {name: getattr(row, name) for name in self.defaults(self.key_of(row))}

    def secret_of(self, row: Any, name: str) -> str:
        """A secret in clear text; empty: none is stored, or its key is lost."""
        raise NotImplementedError

    def describe(self, row: Any) -> dict[str, Any]:
        """The key and the attributes of a row; of a secret, whether there is one."""
        said = dict(zip(self.keys, self.key_of(row), strict=True)) | self.values_of(row)
        said |= {f"has_{name}": bool(row.secret) for name in self.secrets}
        return said | {name: getattr(row, name) for name in self.read_only}

    def is_visible(self, user: authorities.Principal, row: Any) -> bool:
        """Whether a principal may know of a row, as far as permissions do not tell.

        Raises:
            NotAuthorized: they may not, which is to be recorded.
        """
        return True

    def visible_rows(self, user: authorities.Principal) -> Iterator[Any]:
        """The objects that a principal may know of, as far as permissions do not
        tell."""
        yield from self.rows()

    def require_authorities(
        self, user: authorities.Principal, row: Any, values: Values
    ) -> None:
        """Check what a principal who makes or alters a row needs beside permissions.

        Args:
            user: who does it.
            row: what is stored; None: it is made.
            values: the attributes that are set.

        Raises:
            NotAuthorized: an authority on a queue is missing.
        """

    def lock(self, key: Key, *, will_go: bool) -> None:
        """Keep others from changing an object, until the transaction ends."""
        rows = self.named(key)
        list(rows.select_for_update(of=("self",), no_key=not will_go))

    def fill(self, row: Any, values: Values) -> None:
        """Set attributes of a row; nothing is stored."""
        for name, value in values.items():
            setattr(row, name, value)

    def check(self, row: Any, where: str) -> None:
        """Refuse a row that cannot be stored.

        Raises:
            WrongSettings: a value is out of its range, or the name is taken.
        """
        try:
            row.full_clean(
                self.references(), validate_unique=False, validate_constraints=False
            )
        except ValidationError as error:
            name, (first, *_) = next(iter(error.message_dict.items()))
            place = where if name == NON_FIELD_ERRORS else f"{where}, {name}"
            raise WrongSettings(place, first) from None
        other = other_of_name(row)
        if other is not None:
            raise WrongSettings(
                where,
                f"{row} is the name of another {other._meta.verbose_name_raw} already."
                " Choose another name.",
            )

    def references(self) -> set[str]:
        """Fields that refer to objects, which the same plan may create."""
        return {one.name for one in self.model._meta.fields if one.is_relation}

    def save(self, row: Any, key: Key, values: Values) -> None:
        """Store a row, with its references.

        Raises:
            ObjectInUse: what it refers to does not exist.
        """
        row.save()

    def obstacle(self, row: Any, going: frozenset[tuple[str, Key]]) -> str:
        """Why a row cannot be deleted, as a sentence; empty: it can be.

        Args:
            row: the row.
            going: name of the kind, and key, of all that the plan deletes.
        """
        return ""


REGISTERED: dict[str, ObjectKind] = {}  # kinds by name


def register(*kinds: ObjectKind) -> None:
    """Register kinds of objects, for documents and for all interfaces."""
    REGISTERED.update((one.name, one) for one in kinds)


def every_kind() -> tuple[ObjectKind, ...]:
    """All registered kinds, in the order in which objects are created."""
    return tuple(sorted(REGISTERED.values(), key=attrgetter("rank")))
