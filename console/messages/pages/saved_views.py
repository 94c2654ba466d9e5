"""Saved views: opened, saved, renamed, shared and deleted."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from broker.security.users import User
from broker.sql import is_duplicate
from console.layout import search_links
from console.messages import saved_views, search_form
from console.models import SavedView


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def view(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect to the filter of a view. The results depend on the user's rights."""
    opened = get_object_or_404(saved_views.open_to(request.user), slug=slug)
    query = urlencode([("f", text) for text in saved_views.texts_of(opened)])
    return redirect(f"{reverse('console:messages')}?{query}")


@require_POST
@permission_required("broker.view_queue", raise_exception=True)
def save(request: HttpRequest) -> HttpResponse:
    """Save a filter under a name, and show the page of messages with it."""
    wanted = search_form.search(request.user, request.POST.getlist("f")).filter
    form = saved_views.SaveForm(request.POST, owner=owner(request))
    if form.is_valid():
        said = form.cleaned_data
        try:
            with transaction.atomic():
                saved = saved_views.save(
                    owner(request), said["name"], wanted, is_shared=said["is_shared"]
                )
        except IntegrityError as clash:
            if not is_duplicate(clash):
                raise
            form.add_error("name", saved_views.AT_ONCE)
        else:
            messages.success(request, f"The view “{saved.name}” is saved.")
            return redirect(search_links.url_of(wanted))
    for error in form.errors["name"]:
        messages.error(request, f"The view was not saved. {error}")
    return redirect(search_links.url_of(wanted))


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("broker.view_queue", raise_exception=True)
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Rename or share a view of the user; its URL stays."""
    own = owned(request, slug)
    said = request.POST if request.method == "POST" else None
    form = saved_views.SaveForm(said, owner=own.owner, view=own)
    if form.is_valid():
        saved_views.change(own, **form.cleaned_data)
        name = form.cleaned_data["name"]
        messages.success(request, f"The view “{name}” is saved.")
        return redirect("console:view", slug)
    context = {"view": own, "form": form, "texts": saved_views.texts_of(own)}
    status = 422 if form.errors else 200
    return render(request, "console/messages/found/view.html", context, status=status)


@require_POST
@permission_required("broker.view_queue", raise_exception=True)
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete a view of the user. No message changes."""
    own = owned(request, slug)
    saved_views.delete(own)
    messages.success(request, f"The view “{own.name}” is deleted. No message changed.")
    return redirect("console:messages")


def owner(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "permissions were asked for"
    return request.user


def owned(request: HttpRequest, slug: str) -> SavedView:
    return get_object_or_404(saved_views.owned_by(owner(request)), slug=slug)
