"""Credentials of applications, and one's own rights, over REST."""

from __future__ import annotations

from ninja import Router

from broker.acts.credentials import create_credential, revoke_credential
from console.accounts.queries import list_credentials, read_rights
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query

credentials = Router(tags=["credentials"])
serve_query(credentials, "/credentials", list_credentials)
serve(credentials, "POST", "/credentials", create_credential)
serve(credentials, "POST", "/credentials/{queue:credential}/revoke", revoke_credential)

rights = Router(tags=["rights"])
serve_query(rights, "/rights", read_rights)
