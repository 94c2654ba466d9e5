"""Import of address settings from a document: first a preview, then the whole change.

There are two modes. *merge* sets the fields that the document defines, and leaves all
others as they are. *replace* makes the settings equal to the document, and deletes
settings that it does not have.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from django.db import IntegrityError, transaction
from psycopg.errors import UniqueViolation

from broker.config import artemis_xml, configuration, documents
from broker.config.address_settings import DEFAULTS
from broker.config.advice import Advice
from broker.config.configuration import Changes
from broker.config.documents import Document, LeftOut
from broker.config.lint import advice
from broker.errors.settings import SettingsChanged, WrongSettings
from broker.models import Act, AddressSetting
from broker.security import audit

Mode = Literal["merge", "replace"]
MODES: tuple[Mode, ...] = get_args(Mode)
Deed = Literal["added", "changed", "removed", "unchanged"]
DEEDS: tuple[Deed, ...] = get_args(Deed)
ACTS: dict[Deed, Act] = {
    "added": Act.CREATE,
    "changed": Act.CHANGE,
    "removed": Act.DELETE,
}
FORMATS = {"json": documents.write, "xml": artemis_xml.write}


@dataclass(frozen=True, slots=True)
class Difference:
    """One field before and after; None: not defined."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class SettingChange:
    """The change of the setting of one pattern."""

    match: str
    deed: Deed
    differences: Sequence[Difference]


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """The changes of an import."""

    mode: Mode
    changes: Sequence[SettingChange]  # ordered by pattern
    left_out: Sequence[LeftOut]
    warnings: Sequence[Advice] = ()  # warnings that the changes cause

    def of(self, deed: Deed) -> list[SettingChange]:
        return [one for one in self.changes if one.deed == deed]

    @property
    def counts(self) -> dict[Deed, int]:
        return {deed: len(self.of(deed)) for deed in DEEDS}

    @property
    def changes_anything(self) -> bool:
        return len(self.of("unchanged")) < len(self.changes)

    @property
    def token(self) -> str:
        """A digest of the changes; ``apply`` checks it."""
        said = repr((self.mode, sorted(self.changes, key=lambda one: one.match)))
        return hashlib.sha256(said.encode()).hexdigest()


def read(text: str | bytes) -> Document:
    """Read a document in JSON or XML.

    Raises:
        WrongSettings: the document is neither JSON nor XML, or is invalid.
    """
    if isinstance(text, bytes):
        begins = text.removeprefix(codecs.BOM_UTF8).lstrip()[:1].decode("latin-1")
    else:
        text = text.removeprefix("\ufeff")
        begins = text.lstrip()[:1]
    if begins == "<":
        return artemis_xml.read(text)
    if begins == "{":
        return documents.read(text)
    raise WrongSettings(
        "", "This is neither JSON as it is exported here nor XML of Artemis."
    )


def preview(document: Document, mode: Mode) -> ImportPreview:
    """The changes that an import would make now, with the warnings that they add;
    nothing is changed."""
    stored = list(AddressSetting.objects.all())
    found = compared(stored, document, mode)
    return replace(found, warnings=warnings_of(found, stored))


def warnings_of(
    found: ImportPreview, stored: Iterable[AddressSetting]
) -> Sequence[Advice]:
    """The warnings that changes would add."""
    to_be: dict[str, AddressSetting | None] = {}
    for one in found.changes:
        if one.deed in ACTS:
            to_be[one.match] = None if one.deed == "removed" else changed(one, stored)
    if not to_be:
        return ()
    before = set(advice())
    after = advice(configuration.stored(Changes(rules=to_be)))
    return [one for one in after if one not in before]


def changed(change: SettingChange, stored: Iterable[AddressSetting]) -> AddressSetting:
    """A setting as it would be; nothing is stored."""
    before = next((one for one in stored if one.match == change.match), None)
    setting = copy(before) if before else AddressSetting(match=change.match)
    for one in change.differences:
        setattr(setting, one.field, one.after)
    return setting


def compared(
    stored: Iterable[AddressSetting], document: Document, mode: Mode
) -> ImportPreview:
    """The changes from the stored settings to a document. A pure function."""
    before = {one.match: one for one in stored}
    wanted = {one.match: one for one in document.settings}
    changes = [
        change_of(match, before.get(match), wanted.get(match), mode)
        for match in sorted(before.keys() | wanted.keys())
        if match in wanted or mode == "replace"
    ]
    return ImportPreview(mode, changes, document.left_out)


def change_of(
    match: str,
    before: AddressSetting | None,
    wanted: AddressSetting | None,
    mode: Mode,
) -> SettingChange:
    """The change of one pattern; at least one of the two settings exists."""
    differences = []
    for name in DEFAULTS:
        old, new = getattr(before, name, None), getattr(wanted, name, None)
        if old != new and not (mode == "merge" and new is None):
            differences.append(Difference(name, old, new))
    deed: Deed = "changed" if differences else "unchanged"
    if wanted is None:
        deed = "removed"
    elif before is None:
        deed = "added"
    return SettingChange(match, deed, differences)


def apply(document: Document, mode: Mode, *, token: str | None = None) -> ImportPreview:
    """Import a document, all of it or nothing. Changes are effective at once.

    Args:
        document: the document that ``read`` returned.
        mode: merge or replace.
        token: token of the preview that the user has confirmed; None: do not check.

    Raises:
        SettingsChanged: the changes are no longer those of that preview.
    """
    try:
        with transaction.atomic():
            stored = {
                one.match: one for one in AddressSetting.objects.select_for_update()
            }
            found = compared(stored.values(), document, mode)
            if token is not None and token != found.token:
                raise SettingsChanged
            found = replace(found, warnings=warnings_of(found, stored.values()))
            for change in found.changes:
                carry_out(change, stored.get(change.match), mode)
    except IntegrityError as error:
        # Another transaction has just added a setting with the same pattern.
        if isinstance(error.__cause__, UniqueViolation):
            raise SettingsChanged from None
        raise
    return found


def carry_out(change: SettingChange, stored: AddressSetting | None, mode: Mode) -> None:
    """Apply the change of one pattern, and record it in the audit."""
    if change.deed not in ACTS:
        return
    setting = stored or AddressSetting(match=change.match)
    before, thing = audit.state_of(setting), audit.Thing.of(setting)
    if change.deed == "removed":
        setting.delete()
    else:
        for one in change.differences:
            setattr(setting, one.field, one.after)
        setting.save()
        thing = audit.Thing.of(setting)
    changed = audit.changes(before, audit.state_of(setting))
    detail = {"imported": mode, "changed": changed}
    audit.record(ACTS[change.deed], thing, detail=detail)
