"""Saved views: the user's own and those shared by others."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Router, Schema

from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require
from console.messages import acts, saved_views
from console.messages.acts import ViewState

router = Router(tags=["saved views"])


class Views(Schema):
    views: list[ViewState]


@router.get("/views", response={200: Views, **REFUSED}, summary="Saved views")
def list_views(request: HttpRequest) -> dict[str, Any]:
    """The user's own views, then shared views of others, each by name."""
    require(request, "broker.view_queue")
    return {"views": [*map(acts.read_view, saved_views.views_of(request.user))]}


serve(router, "POST", "/views", acts.save_view)


@router.get(
    "/views/{slug:slug}", response={200: ViewState, **REFUSED}, summary="A saved view"
)
def read_view(request: HttpRequest, slug: Path[str]) -> ViewState:
    """One of the user's own views, or a shared one."""
    require(request, "broker.view_queue")
    every = saved_views.open_to(request.user).select_related("owner")
    return acts.read_view(get_object_or_404(every, slug=slug))


serve(router, "PUT", "/views/{slug:slug}", acts.change_view, slug="view")
serve(router, "DELETE", "/views/{slug:slug}", acts.delete_view, slug="view")
