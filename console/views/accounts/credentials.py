"""Credentials of applications: the list, creating one, and revoking one for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from broker.models import Credential
from broker.security import credentials as verbs
from broker.security.users import NAME, User
from console.accounts.credential_form import ADD, PEOPLE, REVOKE, VIEW, CredentialForm
from console.layout import pagination
from console.queues import snippets

PAGE = 100
LONGEST_TEXT = 200  # characters of a search text


class RevokeForm(forms.Form):
    """The reason for revoking a credential."""

    reason = forms.CharField(max_length=200, required=False)


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """A credential as the list shows it."""

    credential: Credential
    connections: int  # connections that are logged in with this credential now
    now: datetime

    @property
    def state(self) -> str:
        one = self.credential
        if one.revoked_at:
            return "revoked"
        if one.expires_at and one.expires_at <= self.now:
            return "expired"
        return "valid" if one.user.is_active else "user is not active"

    @property
    def may(self) -> str:
        one = self.credential
        words = {"get": one.may_get, "browse": one.may_browse, "put": one.may_put}
        return ", ".join(word for word, is_granted in words.items() if is_granted)


@require_safe
@permission_required(VIEW, raise_exception=True)
def credentials(request: HttpRequest) -> HttpResponse:
    """Every credential, by name; ``q`` is a part of its name or its user's."""
    text = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_TEXT]
    page = pagination.Trail.of(request)
    every = Credential.objects.select_related(*PEOPLE)
    named = every.filter(name__icontains=text) | every.filter(
        **{f"user__{NAME}__icontains": text}
    )
    after = page.after.replace("\0", "")
    counted = named.annotate(connections=Count("clientconnection", distinct=True))
    found = list(counted.filter(name__gt=after).order_by("name")[: PAGE + 1])
    now = timezone.now()
    context: dict[str, Any] = {
        "rows": [CredentialRow(one, one.connections, now) for one in found[:PAGE]],
        "wanted": text,
        "page": page,
        "next": page.then(found[PAGE - 1].name) if len(found) > PAGE else None,
    }
    if not found and text:
        context["others"] = Credential.objects.count()
    return render(request, "console/credentials/credentials.html", context)


@require_http_methods(["GET", "POST"])
@permission_required(ADD, raise_exception=True)
@never_cache
@sensitive_variables("secret")
def create(request: HttpRequest) -> HttpResponse:
    """Show the form of a new credential; on POST create it and show its secret once."""
    user = cast("User", request.user)  # the permission implies a sign-in
    form = CredentialForm(request.POST if request.method == "POST" else None, by=user)
    if form.is_valid():
        try:
            credential, secret = verbs.create(**form.cleaned_data, by=user)
        except ValidationError as error:  # another request created it first
            form.add_error(None, error)
        else:
            context = {
                "credential": credential,
                "secret": secret,
                "target": snippets.target_of(request, credential),
                "row": CredentialRow(credential, 0, timezone.now()),
            }
            return render(request, "console/credentials/created.html", context)
    status = 422 if form.is_bound else 200
    page = "console/credentials/create.html"
    return render(request, page, {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@permission_required(REVOKE, raise_exception=True)
def revoke(request: HttpRequest, credential_id: int) -> HttpResponse:
    """Show the effects of revoking a credential; on POST revoke it."""
    if credential_id > pagination.LARGEST:
        credential_id = 0
    credential = get_object_or_404(
        Credential.objects.select_related("user"), pk=credential_id
    )
    form = RevokeForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        connections = credential.clientconnection_set.count()
        context = {
            "credential": credential,
            "row": CredentialRow(credential, connections, timezone.now()),
            "form": form,
        }
        status = 422 if form.is_bound else 200
        page = "console/credentials/revoke.html"
        return render(request, page, context, status=status)
    assert request.user.pk, "only those who have signed in get here"
    if verbs.revoke(credential, request.user, reason=form.cleaned_data["reason"]):
        messages.success(
            request,
            f"{credential.name} is revoked: nobody logs in with it any more, and"
            " listeners close its connections within five seconds.",
        )
    else:
        messages.info(request, f"{credential.name} had been revoked already.")
    return redirect("console:credentials")
