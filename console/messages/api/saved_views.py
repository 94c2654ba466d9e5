"""Saved views: the user's own and those shared by others."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.security import authorities
from broker.security.users import User
from broker.sql import is_duplicate
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import RequestBody
from console.messages import saved_views, search_form
from console.messages.saved_views import SaveForm
from console.models import SavedView

router = Router(tags=["saved views"])


class View(Schema):
    """A named filter. Each reader sees the messages that they may see."""

    slug: str  # slug in URLs; never changes
    name: str
    filter: list[str]  # the terms of the filter, in normal form
    owner: str
    is_shared: bool  # shared: others see its name and filter
    created_at: datetime


class Views(Schema):
    views: list[View]


class Named(RequestBody):
    """The fields of a view that can be changed."""

    name: str = Field(max_length=80, pattern=NO_NUL)
    is_shared: bool = False


class NewView(Named):
    """A filter to save."""

    filter: list[str] = Field(min_length=1, max_length=32)


@router.get("/views", response={200: Views, **REFUSED}, summary="Saved views")
def list_views(request: HttpRequest) -> dict[str, Any]:
    """The user's own views, then shared views of others, each by name."""
    require(request, "broker.view_queue")
    return {"views": [view_document(one) for one in saved_views.views_of(request.user)]}


@router.post("/views", response={200: View, **REFUSED}, summary="Save a view")
def save_view(request: HttpRequest, body: NewView) -> dict[str, Any]:
    """Saves a filter under a name."""
    owner = person(request)
    wanted = search_form.search(owner, body.filter).filter
    said = checked(SaveForm(named(body), owner=owner))
    try:
        with transaction.atomic():
            return view_document(saved_views.save(owner, wanted=wanted, **said))
    except IntegrityError as error:
        if not is_duplicate(error):
            raise
        raise invalid(saved_views.AT_ONCE) from None


@router.get(
    "/views/{slug:slug}", response={200: View, **REFUSED}, summary="A saved view"
)
def read_view(request: HttpRequest, slug: Path[str]) -> dict[str, Any]:
    """One of the user's own views, or a shared one."""
    require(request, "broker.view_queue")
    every = saved_views.open_to(request.user).select_related("owner")
    return view_document(get_object_or_404(every, slug=slug))


@router.put(
    "/views/{slug:slug}", response={200: View, **REFUSED}, summary="Change a view"
)
def change_view(request: HttpRequest, slug: Path[str], body: Named) -> dict[str, Any]:
    """Renames the user's own view, shares it or ends sharing; its URL stays."""
    own = owned(request, slug)
    said = checked(SaveForm(named(body), owner=own.owner, view=own))
    saved_views.change(own, **said)
    own.refresh_from_db()
    return view_document(own)


@router.delete(
    "/views/{slug:slug}", response={200: View, **REFUSED}, summary="Delete a view"
)
def delete_view(request: HttpRequest, slug: Path[str]) -> dict[str, Any]:
    """Deletes the user's own view and returns it. No message changes."""
    own = owned(request, slug)
    saved_views.delete(own)
    return view_document(own)


def person(request: HttpRequest) -> User:
    """The owner of the views.

    Raises:
        PermissionDenied: the caller is an application, which has no views.
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
    """The request's fields, validated as on the page."""
    if form.is_valid():
        return form.cleaned_data
    raise invalid(" ".join(map(str, form.errors["name"])))


def invalid(why: str) -> ValidationError:
    return ValidationError([{"loc": ("body", "name"), "msg": why}])


def view_document(view: SavedView) -> dict[str, Any]:
    return {
        "slug": view.slug,
        "name": view.name,
        "filter": saved_views.texts_of(view),
        "owner": view.owner.get_username(),
        "is_shared": view.is_shared,
        "created_at": view.created_at,
    }
