"""``backout credential list``: credentials of applications."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from broker.acts.credentials import VIEW, credentials_after, describe_credential
from console.edges.commands import actors
from console.edges.commands.options import Json, User


def list_all(self: Any, *, user: User = None, json: Json = False) -> None:
    """List credentials, also those that are revoked or expired."""
    actors.require(actors.acting(user), VIEW)
    rows = [asdict(describe_credential(one)) for one in credentials_after("")]
    self.tell_rows("credentials", rows, as_json=json, empty="There is no credential.")
