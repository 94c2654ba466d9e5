"""Saved views, which are named filters: owner, sharing, URLs.

A view is a filter only and grants no rights: each reader sees their own results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.text import slugify

from broker.errors.messages import InvalidFilter
from broker.formats import filters
from broker.formats.filters import Filter
from broker.models import Act
from broker.security import audit
from broker.security.users import User
from console.models import SavedView

MOST = 100  # saved views of one user
LONGEST_SLUG = 80  # characters, without the number that makes it unique
AT_ONCE = "Somebody saved a view at the same moment. Save it again."
SHOWN = 50  # shared views shown above a list
State = dict[str, Any]  # fields of a view, by name


class SaveForm(forms.Form):
    """The name of a filter, and whether it is shared."""

    name = forms.CharField(
        max_length=80, error_messages={"required": "Give the view a name."}
    )
    is_shared = forms.BooleanField(required=False)

    def __init__(
        self,
        said: Any = None,
        *,
        owner: User | None = None,
        view: SavedView | None = None,
    ) -> None:
        own: dict[str, Any] = {}
        if view:
            own = {"name": view.name, "is_shared": view.is_shared}
        super().__init__(said, initial=own, auto_id="view-%s")
        self.owner = owner
        self.view = view

    def clean_name(self) -> str:
        name = " ".join(str(self.cleaned_data["name"]).split())
        others = SavedView.objects.filter(owner=self.owner)
        if self.view:
            others = others.exclude(pk=self.view.pk)
        if others.filter(name=name).exists():
            raise forms.ValidationError("You have a view of this name. Choose another.")
        if not self.view and others.count() >= MOST:
            raise forms.ValidationError(f"You have {MOST} views. Delete one first.")
        return name


def views_of(user: User | AnonymousUser) -> list[SavedView]:
    """The user's own views, then some shared by others, by name."""
    known = SavedView.objects.select_related("owner").order_by("name", "pk")
    shared = known.filter(is_shared=True).exclude(owner=user.pk)
    return [*known.filter(owner=user.pk), *shared[:SHOWN]]


def open_to(user: User | AnonymousUser) -> QuerySet[SavedView]:
    """Views that the user may open."""
    return SavedView.objects.filter(Q(owner=user.pk) | Q(is_shared=True))


def owned_by(user: User) -> QuerySet[SavedView]:
    """Views that the user may change."""
    return SavedView.objects.filter(owner=user).select_related("owner")


@transaction.atomic
def save(owner: User, name: str, wanted: Filter, *, is_shared: bool) -> SavedView:
    made = SavedView.objects.create(
        slug=free_slug(name),
        name=name,
        filter=str(wanted),
        owner=owner,
        is_shared=is_shared,
    )
    record(Act.CREATE, made, {}, audit.state_of(made))
    return made


@transaction.atomic
def change(view: SavedView, *, name: str, is_shared: bool) -> None:
    before = audit.state_of(view)
    SavedView.objects.filter(pk=view.pk).update(name=name, is_shared=is_shared)
    record(Act.CHANGE, view, before, audit.state_of(view))


@transaction.atomic
def delete(view: SavedView) -> None:
    record(Act.DELETE, view, audit.state_of(view), {})
    SavedView.objects.filter(pk=view.pk).delete()


def record(act: Act, view: SavedView, before: State, after: State) -> None:
    audit.record(act, view, detail={"changed": audit.changes(before, after)})


def texts_of(view: SavedView) -> list[str]:
    """The terms of a view; unchanged if the language no longer knows a word."""
    try:
        return [str(term) for term in filters.parse(view.filter).terms]
    except InvalidFilter:
        return [view.filter]


def current(views: Iterable[SavedView], wanted: Filter) -> SavedView | None:
    """The saved view with this filter, if there is one."""
    return next((view for view in views if view.filter == str(wanted)), None)


def free_slug(name: str) -> str:
    """A slug for a new view that no other view has."""
    taken = set(SavedView.objects.values_list("slug", flat=True))
    return next(slug for slug in slugs(name) if slug not in taken)


def slugs(name: str) -> Iterator[str]:
    stem = slugify(name)[:LONGEST_SLUG].strip("-") or "view"
    yield stem
    for number in count(2):
        yield f"{stem}-{number}"
