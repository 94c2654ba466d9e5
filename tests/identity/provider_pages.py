"""The pages of the provider of tests.

``POST /people/`` has a JSON object: the groups of each person by name, whose password
is the name; and under ``tampered`` what ID tokens say falsely from then on.
"""

from __future__ import annotations

import json
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from allauth.idp.oidc.adapter import DefaultOIDCAdapter
from allauth.idp.oidc.models import Client
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from tests.identity import CLIENT, SECRET

GROUPS: dict[str, list[str]] = {}
TAMPERED: dict[str, Any] = {}


class Claims(DefaultOIDCAdapter):
    def get_claims(
        self, purpose: Any, user: Any, client: Any, scopes: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """Groups are told on the page of the user alone, as many providers do."""
        found: dict[str, Any] = super().get_claims(
            purpose, user, client, scopes, **kwargs
        )
        if purpose == "userinfo":
            found["realm"] = {"groups": GROUPS[user.username]}
            found |= {"sub": TAMPERED["page"]} if "page" in TAMPERED else {}
        return found

    def populate_id_token(self, id_token: dict[str, Any], *_: Any, **__: Any) -> None:
        id_token.update({k: v for k, v in TAMPERED.items() if k != "page"})


def people(request: HttpRequest) -> HttpResponse:
    told = json.loads(request.body)
    TAMPERED.clear()
    TAMPERED.update(told.pop("tampered", {}))
    for name, groups in told.items():
        GROUPS[name] = groups
        if not User.objects.filter(username=name).exists():
            User.objects.create_user(name, password=name)
    return HttpResponse(status=204)


urlpatterns = [
    path("people/", people),
    path("accounts/", include("allauth.account.urls")),
    path("", include("allauth.idp.urls")),
]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def serve(port: int, callback: str) -> None:
    call_command("migrate", verbosity=0)
    client = Client(id=CLIENT, name="Backout", skip_consent=True)
    client.set_secret(SECRET)
    client.set_scopes(["openid", "profile"])
    client.set_redirect_uris([callback])
    client.save()
    application = get_wsgi_application()
    with make_server("127.0.0.1", port, application, handler_class=Quiet) as server:
        print("ready", flush=True)
        server.serve_forever()
