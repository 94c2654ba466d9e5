"""Orders for credentials, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.acts.credentials import CreateCredential, RevokeCredential
from broker.models import Credential
from tests.console.act_doors import Example
from tests.console.edges.wire import make_credential
from tests.make import make_user


def make_owner() -> Mapping[str, Any]:
    make_user("shop-user")
    return {"name": "shop", "owner": "shop-user", "patterns": ("orders.#", "eu.*")}


EXAMPLES = {
    "create_credential": Example(
        CreateCredential,
        "console:create_credential",
        about=(),
        make=make_owner,
        absent={},
        missing="",
        changes=(Credential,),
        is_hidden=False,
    ),
    "revoke_credential": Example(
        RevokeCredential,
        "console:revoke_credential",
        about=("credential",),
        make=lambda: {"credential": make_credential("shop").name},
        absent={"credential": "shop"},
        missing="There is no credential",
        changes=(Credential,),
        is_hidden=False,
    ),
}
