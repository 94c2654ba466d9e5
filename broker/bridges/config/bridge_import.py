"""Import of a bridge's document: first a preview of the changes, then all of them.

There are two modes. *merge* adds and changes what the document has, and keeps the other
parts of the bridge. *replace* also removes parts that the document does not have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction
from psycopg.errors import UniqueViolation

from broker.bridges import secrets
from broker.bridges.config import jmsbridge_xml, validation
from broker.bridges.config.documents import (
    Document,
    LeftOpen,
    name_of,
    stored,
    values_of,
)
from broker.bridges.config.edits import reasons_to_keep
from broker.bridges.config.faults import FieldFault, Part
from broker.bridges.config.validation import faults_of, feeding, noun
from broker.config.advice import Advice
from broker.config.imports import ACTS, DEEDS, MODES, Deed, Difference, Mode
from broker.config.lint import advised
from broker.errors import BrokerError
from broker.errors.bridges import SecretsLost, StillNeeded, WrongBridge
from broker.errors.settings import SettingsChanged
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)
from broker.security import audit
from broker.security.audit import Thing

Key = tuple[type, str]  # a model, and the name of a part
__all__ = [
    "MODES",
    "BridgeImportPreview",
    "Mode",
    "PartChange",
    "apply",
    "preview",
    "read",
]

OWN = {"id", "key", "bridge", "secret"}  # columns that are not in documents
# Order in which parts are removed.
LAST = (DeadMessageQueue, Link, BridgeDestination, ConnectionFactory)


@dataclass(frozen=True, slots=True)
class PartChange:
    """The change of one part."""

    kind: str  # "link", "connection factory", …
    name: str
    deed: Deed
    differences: Sequence[Difference]


@dataclass(frozen=True, slots=True)
class BridgeImportPreview:
    """The changes of an import."""

    bridge: str
    mode: Mode
    changes: Sequence[PartChange]
    left_open: Sequence[LeftOpen]
    warnings: Sequence[Advice] = ()  # new warnings, caused by the changes

    def of(self, deed: Deed) -> list[PartChange]:
        return [one for one in self.changes if one.deed == deed]

    @property
    def counts(self) -> dict[Deed, int]:
        return {deed: len(self.of(deed)) for deed in DEEDS}

    @property
    def changes_anything(self) -> bool:
        return len(self.of("unchanged")) < len(self.changes)

    @property
    def token(self) -> str:
        """A digest of the changes, to recognise the same preview."""
        said = repr((self.bridge, self.mode, list(self.changes)))
        return hashlib.sha256(said.encode()).hexdigest()


def read(text: str | bytes) -> Document:
    """Read and validate the document of a bridge.

    Raises:
        WrongSettings: it is no document of a bridge.
        WrongBridge: it is invalid; with all faults.
    """
    document = jmsbridge_xml.read(text)
    users: list[Link | DeadMessageQueue] = [*document.links, *document.dead_queues]
    for part in users:
        why = validation.transformer_problem(part.transformer, part.properties)
        if part.transformer and why:
            part.enabled = False
            what = f"It is disabled until it has a transformer: {why}"
            document.left_open.append(LeftOpen(noun(part), what))
    if found := list(problems(document)):
        raise WrongBridge(found)
    return document


def problems(document: Document) -> Iterator[str]:
    """Faults, except the values that the document leaves open."""
    for part in document.parts:
        wrong = [one for one in faults_of(part) if not is_left_open(part, one)]
        if isinstance(part, DeadMessageQueue):
            wrong += feeding(part, document.links)
        yield from (f"{noun(part)}: {one.sentence}" for one in wrong)


def is_left_open(part: Part, fault: FieldFault) -> bool:
    """Whether a fault may remain while the link is disabled."""
    if isinstance(part, ConnectionFactory):
        is_unknown = fault.field == "provider" and not part.provider
        return is_unknown or fault.field == "username"
    if isinstance(part, BridgeDestination):
        return fault.field == "name" and not part.name
    return fault.field == "transformer"


def preview(document: Document, mode: Mode) -> BridgeImportPreview:
    """The changes that an import would make, with the warnings that they add; nothing
    is changed: they are made and rolled back."""
    try:
        with transaction.atomic():
            found = apply(deepcopy(document), mode)
            transaction.set_rollback(True)
    except BrokerError:  # the import would be refused; still show its changes
        return compared(stored_as(document), document, mode)
    return found


def stored_as(document: Document) -> Document | None:
    bridge = Bridge.objects.filter(name=document.bridge.name).first()
    return None if bridge is None else stored(bridge)


def compared(
    before: Document | None, document: Document, mode: Mode
) -> BridgeImportPreview:
    """The changes from the stored bridge to a document."""
    keep_places(before, document)
    old = by_key(before) if before else {}
    wanted = by_key(document)
    changes = [change_of(old.get(key), one) for key, one in wanted.items()]
    if mode == "replace":
        gone = [one for key, one in old.items() if key not in wanted]
        changes += [
            PartChange(kind_of(one), name_of(one), "removed", differences(one, None))
            for one in gone
        ]
    return BridgeImportPreview(document.bridge.name, mode, changes, document.left_open)


def keep_places(before: Document | None, document: Document) -> None:
    """Keep the positions of dead message queues that are in this order already."""
    queues = document.dead_queues
    known = {one.name: n for n, one in enumerate(before.dead_queues if before else [])}
    places = [known.get(one.name, -1) for one in queues]
    if before and -1 not in places and places == sorted(places):
        for queue, place in zip(queues, places, strict=True):
            queue.position = before.dead_queues[place].position


def by_key(document: Document) -> dict[Key, Part]:
    return {(type(one), name_of(one)): one for one in document.parts}


def kind_of(part: Part) -> str:
    return part._meta.verbose_name_raw


def change_of(old: Part | None, new: Part) -> PartChange:
    found = differences(old, new)
    if isinstance(old, DeadMessageQueue) and isinstance(new, DeadMessageQueue):
        places = old.position, new.position
        found += [Difference("position", *places)] * (places[0] != places[1])
    deed: Deed = "changed" if found else "unchanged"
    return PartChange(
        kind_of(new), name_of(new), "added" if old is None else deed, found
    )


def differences(old: Part | None, new: Part | None) -> list[Difference]:
    """The fields that differ; for a single part, those that differ from the defaults.

    For a password, only the fact of a change is shown.
    """
    before = {} if old is None else values_of(old)
    after = {} if new is None else values_of(new)
    usual = {one.name: one.get_default() for one in (old or new)._meta.fields}  # type: ignore[union-attr]
    found = [
        Difference(name, before.get(name), after.get(name))
        for name in {**before, **after}
        if before.get(name, usual[name]) != after.get(name, usual[name])
    ]
    if isinstance(new, ConnectionFactory):
        assert old is None or isinstance(old, ConnectionFactory)
        if (secret := secret_for(old, new)) != (old.secret if old else ""):
            words = "stored" if old and old.secret else None
            found.append(Difference("password", words, "new" if secret else None))
    return found


def secret_for(old: ConnectionFactory | None, new: ConnectionFactory) -> str:
    """The encrypted password of a factory after an import.

    If the document has no password, the stored password of the same user is kept.
    """
    if old is None:
        return new.secret
    if not new.secret:
        return old.secret if old.username == new.username else ""
    return old.secret if is_same_password(old, new) else new.secret


def is_same_password(old: ConnectionFactory, new: ConnectionFactory) -> bool:
    name = str(old)
    try:
        known = secrets.decrypt(old.secret, factory=name)
    except SecretsLost:
        return False
    return known == secrets.decrypt(new.secret, factory=name)


def apply(
    document: Document, mode: Mode, *, token: str | None = None
) -> BridgeImportPreview:
    """Make the changes of an import, all or none.

    Args:
        token: the token of the confirmed preview; None: no check.

    Raises:
        SettingsChanged: the changes are no longer those of that preview.
        StillNeeded: a link to be removed is not stopped.
        WrongBridge: a kept link would be invalid after the changes.
    """
    try:
        with transaction.atomic():
            list(Bridge.objects.select_for_update().filter(name=document.bridge.name))
            before = stored_as(document)
            found = compared(before, document, mode)
            if token is not None and token != found.token:
                raise SettingsChanged("bridges")
            with advised() as warnings:
                carry_out(before, document, mode)
    except IntegrityError as error:
        if isinstance(error.__cause__, UniqueViolation):  # a part was added meanwhile
            raise SettingsChanged("bridges") from None
        raise
    return replace(found, warnings=warnings)


def carry_out(before: Document | None, document: Document, mode: Mode) -> None:
    old = by_key(before) if before else {}
    wanted = by_key(document)
    kept: dict[Key, Part] = dict(old)
    for key, new in wanted.items():
        change = change_of(old.get(key), new)
        kept[key] = put_in(kept.get(key), new, kept)
        if change.deed != "unchanged":
            store(kept[key], change, mode)
    if mode == "replace":
        for model in LAST:
            for key in [one for one in old if one[0] is model and one not in wanted]:
                remove(old[key], mode)
    if before is not None and mode == "merge":
        others = [one for one in before.links if (Link, one.name) not in wanted]
        wrong = [
            f"{noun(one)}: {fault.sentence}"
            for one in others
            if one.enabled
            for fault in faults_of(one)
        ]
        if wrong:
            raise WrongBridge(wrong)


def put_in(old: Part | None, new: Part, kept: dict[Key, Part]) -> Part:
    """The stored part with the new values; its references are stored parts."""
    target = old or new
    if isinstance(new, ConnectionFactory):
        assert old is None or isinstance(old, ConnectionFactory)
        new.secret = secret_for(old, new)
        setattr(target, "secret", new.secret)  # noqa: B010
    for column in new._meta.fields:
        value: Any = getattr(new, column.name, None)
        if column.is_relation and column.name in ("bridge", *REFERENCES):
            value = None if value is None else kept[type(value), name_of(value)]
        elif column.name in OWN:
            continue
        setattr(target, column.name, value)
    return target


REFERENCES = (
    *("source_factory", "source", "target_factory", "target"),
    *("factory", "destination"),
)


def store(part: Part, change: PartChange, mode: Mode) -> None:
    before = {} if change.deed == "added" else audit.state_of(part)
    part.save()
    changed = audit.changes(before, audit.state_of(part))
    detail = {"imported": mode, "changed": changed}
    audit.record(ACTS[change.deed], part, detail=detail)


def remove(part: Part, mode: Mode) -> None:
    for why in reasons_to_keep(part):
        raise StillNeeded(noun(part), why)
    thing, state = Thing.of(part), audit.state_of(part)
    detail = {"imported": mode, "changed": audit.changes(state, {})}
    audit.record(ACTS["removed"], thing, detail=detail)
    part.delete()
