"""Before a change is saved: what it would change, and what that concerns.

The change is made and rolled back, so what is shown is what the database and the
warnings would say. The page is the form itself; a second press of its button saves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.messages.storage.base import BaseStorage, Message
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

from console.configuration import effects, words
from console.configuration.previewing import PREVIEW, SHOWN

REVIEWED = "_reviewed"  # form field: the token of the changes that the user has seen
SAVED = "_saved_settings"  # attribute of a request: what it would save
BUTTONS = ("_save", "_continue", "_addanother", "_saveasnew")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that would change, as texts."""

    name: str
    title: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Review:
    """What saving a form would do."""

    changes: Sequence[FieldChange]
    sentences: Sequence[str]
    warnings: Sequence[str]
    token: str
    button: str  # name of the button that was pressed
    is_new: bool
    was_seen: bool  # whether the user confirmed a review of earlier values


class Held(BaseStorage):
    """The messages of one request, apart from those that wait to be shown."""

    def _get(self, *args: Any, **kwargs: Any) -> tuple[list[Message], bool]:
        return [], True

    def _store(self, *args: Any, **kwargs: Any) -> list[Message]:
        return []


class ReviewedAdmin(ModelAdmin):
    """Shows what a change would do, if it has an effect on anything that exists."""

    def save_model(
        self, request: HttpRequest, obj: Model, form: Any, change: Any
    ) -> None:
        rows = type(obj)._base_manager.filter(pk=obj.pk)
        before = rows.first() if change else None
        known = effects.before(obj)
        super().save_model(request, obj, form, change)
        setattr(request, SAVED, (before, obj, known))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        view = super().changeform_view
        if request.method != "POST" or {PREVIEW, IS_POPUP_VAR} & request.POST.keys():
            return view(request, object_id, form_url, extra_context)
        kept, request._messages = request._messages, Held(request)  # type: ignore[attr-defined]
        with transaction.atomic():
            answer = view(request, object_id, form_url, extra_context)
            said = list(messages.get_messages(request))
            review = review_of(request, said)
            if review is not None:
                transaction.set_rollback(True)
        request._messages = kept  # type: ignore[attr-defined]
        if review is None:
            for one in said:
                messages.add_message(request, one.level, one.message, one.extra_tags)
            return answer
        setattr(request, SHOWN, True)
        context = {**(extra_context or {}), "review": review}
        return view(request, object_id, form_url, context)


def review_of(request: HttpRequest, said_by_it: list[Message]) -> Review | None:
    """What to show before saving; None if nothing is saved, has no effect on what
    exists, or was shown already."""
    saved: Any = getattr(request, SAVED, (None, None, None))
    before, obj, known = saved
    if obj is None:
        return None
    changes = list(differences(before, obj))
    said = str([type(obj).__name__, before and before.pk, changes])
    token = hashlib.sha256(said.encode()).hexdigest()
    if request.POST.get(REVIEWED) == token:
        return None
    found = effects.after(before, obj, known, {one.name for one in changes})
    warned = [str(one.message) for one in said_by_it if one.level == messages.WARNING]
    if not changes or not (found or (warned and before is None)):
        return None
    return Review(
        changes,
        found,
        warned,
        token,
        next((name for name in BUTTONS if name in request.POST), BUTTONS[0]),
        is_new=before is None,
        was_seen=bool(request.POST.get(REVIEWED)),
    )


def differences(before: Model | None, after: Model) -> Any:
    """The fields that differ; of a new row, those that are not as by default."""
    model = type(after)
    for field in model._meta.concrete_fields:
        if not field.editable or field.primary_key:
            continue
        old = field.get_default() if before is None else field.value_from_object(before)
        new = field.value_from_object(after)
        if old != new:
            yield FieldChange(
                field.name,
                words.title(model, field.name),
                "" if before is None else words.value(model, field.name, old),
                words.value(model, field.name, new),
            )
