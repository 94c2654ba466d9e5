"""Connections: the clients, their endpoints, and closing them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from broker.acts.connections import CLOSE, close_connection, close_endpoint
from broker.monitoring import connections as clients
from broker.monitoring.connections import ClientQuery
from broker.security import authorities
from console.consumers.connections import LONGEST_TEXT, find_connection, rows_of
from console.edges.web.forms import ActForm, form_of
from console.layout import listeners, pagination

ENDPOINTS = 100  # endpoints shown on the page of a connection


WHY = gettext_noop("Say why. Whoever looks for the cause later will read it.")
CloseConnectionForm = form_of(close_connection, "connection", reason=WHY)
CloseEndpointForm = form_of(close_endpoint, "connection", "endpoint", reason=WHY)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def connections(request: HttpRequest) -> HttpResponse:
    """Every client that the user may see; ``q`` is a part of one of its names."""
    text = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_TEXT]
    page = pagination.Trail.of(request)
    if page.after and not page.after.isdecimal():  # the cursor is not one of this list
        return redirect("console:connections")
    limit = clients.CONNECTIONS
    wanted = ClientQuery(text=text, after=int(page.after or 0), limit=limit + 1)
    found = clients.connections(request.user, wanted)
    rows = rows_of(found[:limit])
    last = rows[-1].client.connection.pk if rows else 0
    context: dict[str, Any] = {
        "rows": rows,
        "wanted": text,
        "page": page,
        "next": page.then(str(last)) if len(found) > limit else None,
        "is_closing": any(row.is_closing for row in rows),
        "may_close": request.user.has_perm(CLOSE),
    }
    if not rows:
        context |= emptiness(request, text)
    return render(request, "console/consumers/connections/connections.html", context)


def emptiness(request: HttpRequest, text: str) -> dict[str, Any]:
    """The context of an empty list: why it is empty."""
    return {
        "others": clients.count(request.user) if text else 0,
        "sees_all": authorities.held_by(request.user).everywhere("inquire"),
        "doors": listeners.doors(),
        "is_open": listeners.is_open(),
    }


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def connection(request: HttpRequest, connection_id: int) -> HttpResponse:
    """One client, with its endpoints."""
    page = pagination.Trail.of(request)
    after = page.after if page.after.isdecimal() else "0"
    row = find_connection(request, connection_id, after=int(after), limit=ENDPOINTS + 1)
    if row is None:
        return ended(request, connection_id)
    endpoints = row.client.endpoints[:ENDPOINTS]
    has_more = len(row.client.endpoints) > ENDPOINTS
    context = {
        "row": row,
        "endpoints": endpoints,
        "page": page,
        "next": page.then(str(endpoints[-1].pk)) if has_more else None,
        "may_close": request.user.has_perm(CLOSE),
    }
    return render(request, "console/consumers/connections/connection.html", context)


@require_http_methods(["GET", "POST"])
def close_one(request: HttpRequest, connection_id: int) -> HttpResponse:
    """Explain the close of a connection; on POST request it from its listener."""
    form = CloseConnectionForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and form.carry_out(request, connection=connection_id):
        return closing(request, connection_id)
    return confirm(request, form, connection_id)


@require_http_methods(["GET", "POST"])
def close_end(
    request: HttpRequest, connection_id: int, endpoint_id: int
) -> HttpResponse:
    """Explain the close of an endpoint; on POST request it from its listener."""
    form = CloseEndpointForm(request.POST if request.method == "POST" else None)
    named = {"connection": connection_id, "endpoint": endpoint_id}
    if form.is_valid() and form.carry_out(request, **named):
        return closing(request, connection_id)
    return confirm(request, form, connection_id, endpoint_id)


@permission_required(CLOSE, raise_exception=True)
def confirm(
    request: HttpRequest, form: ActForm, connection_id: int, endpoint_id: int = 0
) -> HttpResponse:
    """Ask for a confirmation, with what was wrong with the last one."""
    limit = 1 if endpoint_id else clients.ENDPOINTS
    row = find_connection(
        request, connection_id, after=max(endpoint_id - 1, 0), limit=limit
    )
    if row is None:
        return ended(request, connection_id)
    endpoint = row.client.endpoints[0] if endpoint_id and row.client.endpoints else None
    if endpoint_id and (endpoint is None or endpoint.pk != endpoint_id):
        messages.info(request, gettext("That endpoint is closed already."))
        return redirect("console:connection", connection_id=connection_id)
    context = {"row": row, "endpoint": endpoint, "form": form}
    status = 422 if form.is_bound else 200
    return render(
        request, "console/consumers/connections/close.html", context, status=status
    )


def closing(request: HttpRequest, connection_id: int) -> HttpResponse:
    text = gettext("Asked to close: the listener does so within a second.")
    messages.success(request, text)
    return redirect("console:connection", connection_id=connection_id)


def ended(request: HttpRequest, connection_id: int) -> HttpResponse:
    """Show that a client has disconnected; without an error for automatic refreshes."""
    status = 200 if "HX-Request" in request.headers else 404
    context = {"connection_id": connection_id}
    return render(
        request, "console/consumers/connections/ended.html", context, status=status
    )
