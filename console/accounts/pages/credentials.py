"""Credentials of applications: the list, creating one, and revoking one for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from broker import acts
from broker.acts.credentials import (
    VIEW,
    RevokeCredential,
    create_credential,
    credentials_after,
    revoke_credential,
)
from broker.acts.objects import find_credential
from broker.models import Credential
from broker.security.users import NAME, User
from console.accounts.credential_form import CredentialForm
from console.edges.web.forms import form_of
from console.layout import pagination, snippets

PAGE = 100
LONGEST_TEXT = 200  # characters of a search text


RevokeForm = form_of(revoke_credential, "credential")


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """A credential as the list shows it."""

    credential: Credential
    connections: int  # connections that are logged in with this credential now
    now: datetime

    @property
    def state(self) -> str:
        """In English; the page translates it."""
        one = self.credential
        if one.revoked_at:
            return gettext_noop("revoked")
        if one.expires_at and one.expires_at <= self.now:
            return gettext_noop("expired")
        return "valid" if one.user.is_active else gettext_noop("user is not active")

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
    every = credentials_after(page.after.replace("\0", ""))
    named = every.filter(name__icontains=text) | every.filter(
        **{f"user__{NAME}__icontains": text}
    )
    counted = named.annotate(connections=Count("clientconnection", distinct=True))
    found = list(counted[: PAGE + 1])
    now = timezone.now()
    context: dict[str, Any] = {
        "rows": [CredentialRow(one, one.connections, now) for one in found[:PAGE]],
        "wanted": text,
        "page": page,
        "next": page.then(found[PAGE - 1].name) if len(found) > PAGE else None,
    }
    if not found and text:
        context["others"] = Credential.objects.count()
    return render(request, "console/accounts/credentials/credentials.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
def create(request: HttpRequest) -> HttpResponse:
    """Show the form of a new credential; on POST create it and show its secret once."""
    user = cast("User", request.user)
    form = CredentialForm(request.POST if request.method == "POST" else None, by=user)
    if form.is_valid() and (made := form.carry_out(request)):
        credential = find_credential(made.name)
        context = {
            "credential": credential,
            "secret": made.secret,
            "target": snippets.target_of(request, credential),
            "row": CredentialRow(credential, 0, timezone.now()),
        }
        return render(request, "console/accounts/credentials/created.html", context)
    return ask(request, form)


@permission_required(create_credential.permission, raise_exception=True)
def ask(request: HttpRequest, form: CredentialForm) -> HttpResponse:
    """Show the form, with what was wrong with it."""
    status = 422 if form.is_bound else 200
    page = "console/accounts/credentials/create.html"
    return render(request, page, {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
def revoke(request: HttpRequest, credential: str) -> HttpResponse:
    """Show the effects of revoking a credential; on POST revoke it."""
    acts.require(request.user, RevokeCredential(credential))
    form = RevokeForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and (answer := form.carry_out(request, credential=credential)):
        if answer.changed:
            words = gettext(
                "%(credential)s is revoked: nobody logs in with it any more, and"
                " listeners close its connections within five seconds."
            )
            messages.success(request, words % {"credential": credential})
        else:
            words = gettext("%(credential)s had been revoked already.")
            messages.info(request, words % {"credential": credential})
        return redirect("console:credentials")
    found = find_credential(credential)
    context = {
        "credential": found,
        "row": CredentialRow(found, found.clientconnection_set.count(), timezone.now()),
        "form": form,
    }
    status = 422 if form.is_bound else 200
    page = "console/accounts/credentials/revoke.html"
    return render(request, page, context, status=status)
