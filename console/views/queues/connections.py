"""Connections: the clients, their endpoints, and closing them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from broker.models import ClientConnection, ClientEndpoint
from broker.monitoring import connections as clients
from broker.monitoring.connections import ClientQuery
from broker.security import authorities
from console.layout import pagination
from console.queues import listeners
from console.queues.connections import (
    CLOSE,
    LONGEST_TEXT,
    ConnectionRow,
    ask,
    find_connection,
    rows_of,
)

ENDPOINTS = 100  # endpoints shown on the page of a connection


class CloseReasonForm(forms.Form):
    """The reason for closing."""

    reason = forms.CharField(
        max_length=200,
        error_messages={
            "required": "Say why. Whoever looks for the cause later will read it."
        },
    )


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
        "is_asked": any(row.is_asked for row in rows),
        "may_close": request.user.has_perm(CLOSE),
    }
    if not rows:
        context |= emptiness(request, text)
    return render(request, "console/connections/connections.html", context)


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
    return render(request, "console/connections/connection.html", context)


@require_http_methods(["GET", "POST"])
@permission_required(CLOSE, raise_exception=True)
def close_connection(request: HttpRequest, connection_id: int) -> HttpResponse:
    """Explain the close of a connection; on POST request it from its listener."""
    row = find_connection(request, connection_id)
    if row is None:
        return ended(request, connection_id)
    return close(request, row, row.client.connection)


@require_http_methods(["GET", "POST"])
@permission_required(CLOSE, raise_exception=True)
def close_endpoint(
    request: HttpRequest, connection_id: int, endpoint_id: int
) -> HttpResponse:
    """Explain the close of an endpoint; on POST request it from its listener."""
    row = find_connection(request, connection_id, after=endpoint_id - 1, limit=1)
    if row is None:
        return ended(request, connection_id)
    if [one.pk for one in row.client.endpoints] != [endpoint_id]:
        messages.info(request, "That endpoint is closed already.")
        return redirect("console:connection", connection_id=connection_id)
    return close(request, row, row.client.endpoints[0])


def close(
    request: HttpRequest, row: ConnectionRow, what: ClientConnection | ClientEndpoint
) -> HttpResponse:
    """On GET ask for a confirmation; on POST request the close, and record the user and
    the reason.
    """
    is_endpoint = isinstance(what, ClientEndpoint)
    form = CloseReasonForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"row": row, "endpoint": what if is_endpoint else None, "form": form}
        status = 422 if form.is_bound else 200
        page = "console/connections/close.html"
        return render(request, page, context, status=status)
    if ask(request, what, form.cleaned_data["reason"]) is None:
        messages.info(request, "It is closed already.")
    else:
        messages.success(
            request, "Asked to close: the listener does so within a second."
        )
    return redirect("console:connection", connection_id=row.client.connection.pk)


def ended(request: HttpRequest, connection_id: int) -> HttpResponse:
    """Show that a client has disconnected; without an error for automatic refreshes."""
    status = 200 if "HX-Request" in request.headers else 404
    context = {"connection_id": connection_id}
    return render(request, "console/connections/ended.html", context, status=status)
