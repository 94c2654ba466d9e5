"""Declarations of acts: a request, an answer, the texts and the rules.

    @declared(permission="broker.pause_queue", authorities={"queue": "set"})
    def pause_queue(actor: Principal, request: PauseQueue) -> QueueDelivery:
        \"\"\"Pause a queue.

        Puts go on, and gets return nothing until it is resumed.
        \"\"\"

The name of the function is that of the act, a verb and a noun. Its docstring is its
help at all doors. A request is a frozen dataclass; ``Annotated`` gives what a field
holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from django.utils.translation import gettext_noop

from broker.models import Act
from broker.security import authorities
from broker.security.authorities import Authority, Principal

LONGEST_REASON = 500  # most characters of a reason, as in the audit
PROCESS = "command line"  # actor in the journal if a process, not a user, orders an act


@dataclass(frozen=True, slots=True)
class Holds:
    """What a field of a request holds, for ``Annotated``."""

    help: str  # a sentence
    names: str = ""  # the kind of object that it names, of ``objects.KINDS``
    # The smallest number, or the least number of characters or values.
    least: int | None = None
    # The largest number, or the largest number of characters or values.
    most: int | None = None
    # Names of the command's option, if they differ from the name of the field.
    options: tuple[str, ...] = ()
    # Commands take it as a positional argument, although it is optional.
    is_argument: bool = False
    is_file: bool = False  # a text of many lines, which commands read from a file
    is_past: bool = False  # a time in the past, so it cannot be a duration from now
    word: str = ""  # its name in REST and in commands, if another
    # The text is a JSON object; in REST, the field is this object, not a text.
    is_json: bool = False
    # Fields that name the objects of which the object is part, such as a link's bridge.
    within: tuple[str, ...] = ()


Reason = Annotated[str, Holds(gettext_noop("Why, for the audit."), most=LONGEST_REASON)]
OperationNumber = Annotated[
    int, Holds(gettext_noop("The number of the operation."), names="operation")
]
QueueName = Annotated[
    str, Holds(gettext_noop("The name of the queue."), names="queue", most=255)
]


@dataclass(frozen=True, slots=True)
class Rule:
    """What an actor needs for an object, if it is not just one authority."""

    words: str  # what the actor needs: the end of a sentence
    # Takes the actor and the object; raises an error if the actor may not.
    require: Callable[[Principal, Any], None]


@dataclass(frozen=True, slots=True)
class ActField:
    """A field of a request, or of an answer."""

    name: str
    type: Any  # without ``None``, and without ``Annotated``
    holds: Holds
    is_optional: bool  # whether it may be None
    default: Any  # ``MISSING``: the field is required

    @property
    def is_required(self) -> bool:
        return self.default is MISSING

    @property
    def word(self) -> str:
        """Its name in REST and in commands."""
        return self.holds.word or self.name

    @property
    def has_many(self) -> bool:
        """Whether it holds several values."""
        return get_origin(self.type) is tuple

    @property
    def has_pairs(self) -> bool:
        """Whether it holds values by name."""
        return get_origin(self.type) is dict

    @property
    def parts(self) -> tuple[ActField, ...]:
        """The fields of its value, if that is a dataclass."""
        kind: type = self.type
        return fields_of(kind) if is_dataclass(kind) else ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts of a ``Literal`` or an enumeration; empty if any text will do."""
        kind = get_args(self.type)[0] if self.has_many else self.type
        if isinstance(kind, type) and issubclass(kind, Enum):
            return tuple(one.value for one in kind)
        return get_args(kind) if get_origin(kind) is Literal else ()


@dataclass(frozen=True, slots=True)
class DeclaredAct:
    """An act."""

    name: str  # name of the function, as "pause_queue"
    sentence: str
    details: str  # further sentences, or empty
    request: type
    answer: type
    run: Callable[[Principal, Any], Any]
    permissions: tuple[str, ...]
    # For each field that names a queue, or an object with queues: the authority that
    # the actor needs on all these queues.
    authorities: Mapping[str, Authority]
    # For each field whose object needs more than one authority: the rule.
    rules: Mapping[str, Rule]
    recorded_as: Act
    needs_person: bool  # only a user can order it, not a process
    needs_reason: bool
    is_confirmed: bool
    fields: tuple[ActField, ...]

    @property
    def permission(self) -> str:
        """The permission that is checked first."""
        return self.permissions[0]

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that say what the act is about."""
        named = (field for field in self.fields if field.holds.names)
        return tuple(
            name for field in named for name in (*field.holds.within, field.name)
        )

    @property
    def subject(self) -> str:
        """The name of the module or package that declares it."""
        before, _, inside = self.run.__module__.partition(".acts")
        return inside.split(".")[1] if inside else before.rpartition(".")[2]


ACTS: dict[type, DeclaredAct] = {}  # acts by the class of their request


def declared(  # noqa: PLR0913  # all are facts of one act
    *,
    permission: str,
    recorded_as: Act,
    also: tuple[str, ...] = (),
    authorities: Mapping[str, Authority] | None = None,
    rules: Mapping[str, Rule] | None = None,
    needs_person: bool = False,
    needs_reason: bool = False,
    is_confirmed: bool = False,
) -> Callable[[Callable[[Principal, Any], Any]], DeclaredAct]:
    """Declare an act by the function that carries it out, which is replaced.

    Args:
        permission: that of Django which users need, as "broker.pause_queue".
        recorded_as: the act in the audit, also of refused attempts.
        also: further permissions that users need.
        authorities: what is needed on the queues that fields of the request name, or
            on those of the objects that they name.
        rules: what is needed for these objects where one authority does not say it.
        needs_person: a user orders it, as the name is stored with what it makes.
        needs_reason: whether it is refused without one.
        is_confirmed: whether a command does it only with ``--yes``.
    """

    def declare(run: Callable[[Principal, Any], Any]) -> DeclaredAct:
        hints = get_type_hints(run, include_extras=True)
        request, answer = hints["request"], hints["return"]
        sentence, _, details = inspect.cleandoc(run.__doc__ or "").partition("\n\n")
        one = DeclaredAct(
            name=run.__name__,
            sentence=" ".join(sentence.split()),
            details=" ".join(details.split()),
            request=request,
            answer=answer,
            run=run,
            permissions=(permission, *also),
            authorities=authorities or {},
            rules=rules or {},
            recorded_as=recorded_as,
            needs_person=needs_person,
            needs_reason=needs_reason,
            is_confirmed=is_confirmed,
            fields=fields_of(request),
        )
        ACTS[request] = one
        return one

    return declare


def name_in_journal(actor: Principal) -> str:
    """The name of who ordered it; never empty."""
    return authorities.name_of(actor) or PROCESS


def fields_of(request: type) -> tuple[ActField, ...]:
    """The fields of a dataclass, in their order."""
    hints = get_type_hints(request, include_extras=True)
    return tuple(read_field(one, hints[one.name]) for one in fields(request))


def read_field(one: Any, hint: Any) -> ActField:
    holds = Holds("")
    if get_origin(hint) is Annotated:
        hint, *about = get_args(hint)
        holds = next((part for part in about if isinstance(part, Holds)), holds)
    kinds = get_args(hint)
    is_optional = NoneType in kinds
    if is_optional:
        (hint,) = (kind for kind in kinds if kind is not NoneType)
    default = one.default
    if default is MISSING and one.default_factory is not MISSING:
        default = one.default_factory()
    return ActField(one.name, hint, holds, is_optional, default)
