"""Saved views: one's own, and those that others share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.security import authorities
from console.api.problems import NO_NUL, REFUSED, require
from console.messages import saved_views, search_form
from console.messages.saved_views import SaveForm
from console.models import SavedView

router = Router(tags=["saved views"])


class View(Schema):
    """A filter with a name. Whoever opens it sees what they may."""

    slug: str  # how it stands in URLs; it stays
    name: str
    filter: list[str]  # its terms, as they were understood
    owner: str
    is_shared: bool  # others see its name and filter
    created_at: datetime


class Views(Schema):
    views: list[View]


class Named(Schema):
    """What of a view can be changed."""

    name: str = Field(max_length=80, pattern=NO_NUL)
    is_shared: bool = False


class NewView(Named):
    """A filter to be kept."""

    filter: list[str] = Field(min_length=1, max_length=32)


@router.get("/views", response={200: Views, **REFUSED}, summary="Saved views")
def list_views(request: HttpRequest) -> dict[str, Any]:
    """One's own, then those that others share, each by name."""
    require(request, "broker.view_queue")
    return {"views": [told(one) for one in saved_views.seen_by(request.user)]}


@router.post("/views", response={200: View, **REFUSED}, summary="Save a view")
def save_view(request: HttpRequest, body: NewView) -> dict[str, Any]:
    """Give a filter a name."""
    owner = person(request)
    wanted = search_form.search(owner, body.filter).filter
    said = checked(SaveForm(named(body), owner=owner))
    try:
        with transaction.atomic():
            return told(saved_views.save(owner, wanted=wanted, **said))
    except IntegrityError:
        raise invalid(saved_views.AT_ONCE) from None


@router.get(
    "/views/{slug:slug}", response={200: View, **REFUSED}, summary="A saved view"
)
def read_view(request: HttpRequest, slug: Path[str]) -> dict[str, Any]:
    """One's own, or one that somebody shares."""
    require(request, "broker.view_queue")
    every = saved_views.open_to(request.user).select_related("owner")
    return told(get_object_or_404(every, slug=slug))


@router.put(
    "/views/{slug:slug}", response={200: View, **REFUSED}, summary="Change a view"
)
def change_view(request: HttpRequest, slug: Path[str], body: Named) -> dict[str, Any]:
    """Rename one's own view, share it, or share it no more; its URL stays."""
    own = owned(request, slug)
    said = checked(SaveForm(named(body), owner=own.owner, view=own))
    saved_views.change(own, **said)
    own.refresh_from_db()
    return told(own)


@router.delete(
    "/views/{slug:slug}", response={200: View, **REFUSED}, summary="Delete a view"
)
def delete_view(request: HttpRequest, slug: Path[str]) -> dict[str, Any]:
    """Delete one's own view. No message changes. Answers with what it was."""
    own = owned(request, slug)
    saved_views.delete(own)
    return told(own)


def person(request: HttpRequest) -> User:
    """Whose views are meant.

    Raises:
        PermissionDenied: an application asks, which has none.
    """
    require(request, "broker.view_queue")
    if authorities.credential_of(request.user) is not None:
        raise PermissionDenied("Views are people’s: sign in to save one.")
    assert isinstance(request.user, User), "permissions were asked for"
    return request.user


def owned(request: HttpRequest, slug: str) -> SavedView:
    return get_object_or_404(saved_views.owned_by(person(request)), slug=slug)


def named(body: Named) -> dict[str, Any]:
    return {"name": body.name, "is_shared": body.is_shared}


def checked(form: SaveForm) -> dict[str, Any]:
    """What was said, once it holds, as on the page."""
    if form.is_valid():
        return form.cleaned_data
    raise invalid(" ".join(map(str, form.errors["name"])))


def invalid(why: str) -> ValidationError:
    return ValidationError([{"loc": ("body", "name"), "msg": why}])


def told(view: SavedView) -> dict[str, Any]:
    return {
        "slug": view.slug,
        "name": view.name,
        "filter": saved_views.texts_of(view),
        "owner": view.owner.get_username(),
        "is_shared": view.is_shared,
        "created_at": view.created_at,
    }
