"""``backout settings``: address settings as a document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from broker.config import imports
from broker.config.documents import LeftOut
from broker.config.imports import FORMATS, MODES
from broker.models import AddressSetting
from broker.security.users import User
from console.edges.commands import actors
from console.edges.commands.actors import USAGE


def settings_document(user: User | None, form: str) -> str:
    actors.require(user, "broker.view_addresssetting")
    if form not in FORMATS:
        raise CommandError(f"There is no format {form}.", returncode=USAGE)
    return FORMATS[form](AddressSetting.objects.all())


def import_settings(
    user: User | None, raw: bytes, mode: str, *, does: bool
) -> dict[str, Any]:
    """The changes that a document makes, or made."""
    for deed in ("add", "change", "delete"):
        actors.require(user, f"broker.{deed}_addresssetting")
    if mode not in MODES:
        raise CommandError(f"There is no mode {mode}.", returncode=USAGE)
    document = imports.read(raw)
    run = imports.apply if does else imports.preview
    found = run(document, mode)
    changed = [asdict(one) for one in found.changes if one.deed != "unchanged"]
    left_out = [asdict(one) for one in found.left_out]
    told: dict[str, Any] = {"applied": does, "changes": changed, "left_out": left_out}
    return told | {"warnings": [str(one) for one in found.warnings]}


def changes_in_words(told: dict[str, Any]) -> str:
    signs = {"added": "+", "changed": "~", "removed": "-"}
    lines = []
    for change in told["changes"]:
        lines.append(f"{signs[change['deed']]} {change['match']}")
        lines += [
            f"    {one['field']}: {one['before']!r} → {one['after']!r}"
            for one in change["differences"]
        ]
    lines += [
        f"Left out, or to be checked: {LeftOut(**one)}" for one in told["left_out"]
    ]
    lines += told["warnings"]
    if not told["changes"]:
        return "\n".join([*lines, "There is nothing to change."])
    end = "Done." if told["applied"] else "Nothing is done yet; --yes does it."
    return "\n".join([*lines, end])
