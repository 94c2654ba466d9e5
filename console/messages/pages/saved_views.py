"""Saved views: opened, saved, renamed, shared and deleted."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from broker import acts
from broker.errors.acts import InvalidRequest
from broker.formats import filters
from console.edges import denials
from console.edges.web.forms import form_of
from console.layout import search_links
from console.messages import saved_views
from console.messages.acts import (
    NO_NAME,
    ChangeView,
    DeleteView,
    change_view,
    find_own,
    save_view,
)

SaveForm = form_of(save_view, "filter", name=NO_NAME)
ChangeForm = form_of(change_view, "view", name=NO_NAME)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def view(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect to the filter of a view. The results depend on the user's rights."""
    opened = get_object_or_404(saved_views.open_to(request.user), slug=slug)
    query = urlencode([("f", text) for text in saved_views.texts_of(opened)])
    return redirect(f"{reverse('console:messages')}?{query}")


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save a filter under a name, and show the page of messages with it."""
    wanted = tuple(request.POST.getlist("filter"))
    try:
        saved = SaveForm(request.POST).order(request, filter=wanted)
    except InvalidRequest as error:
        denials.note(request, error)
        why = " ".join(gettext(why) for _, why in error.faults)
        words = gettext("The view was not saved. %(why)s") % {"why": why}
        messages.error(request, words)
    else:
        words = gettext("The view “%(view)s” is saved.") % {"view": saved.name}
        messages.success(request, words)
    return redirect(search_links.url_of(filters.parse(" ".join(wanted))))


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Rename or share a view of the user; its URL stays."""
    acts.require(request.user, ChangeView(slug, ""))
    own = find_own(request.user, slug)
    said = request.POST if request.method == "POST" else None
    initial = {"name": own.name, "is_shared": own.is_shared}
    form = ChangeForm(said, initial=initial)
    if form.is_valid() and (saved := form.carry_out(request, view=slug)):
        words = gettext("The view “%(view)s” is saved.") % {"view": saved.name}
        messages.success(request, words)
        return redirect("console:view", slug)
    context = {"view": own, "form": form, "texts": saved_views.texts_of(own)}
    status = 422 if form.errors else 200
    return render(request, "console/messages/found/view.html", context, status=status)


@require_POST
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete a view of the user. No message changes."""
    own = acts.act(request.user, DeleteView(slug))
    words = gettext("The view “%(view)s” is deleted. No message changed.")
    messages.success(request, words % {"view": own.name})
    return redirect("console:messages")
