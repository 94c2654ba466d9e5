"""Each kind of object that is registered is at all doors."""

from __future__ import annotations

import pytest
from django.core.management import load_command_class

from broker.declarations import ObjectKind, every_kind
from console import api
from tests.console.audit.test_audited import METHODS

DEEDS = {"define": "put", "change": "patch", "delete": "delete"}
KINDS = every_kind()


def test_kinds_come_in_the_order_of_creation() -> None:
    ranks = [one.rank for one in KINDS]
    assert ranks == sorted({*ranks})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_is_at_rest_and_at_the_command_line(kind: ObjectKind) -> None:
    backout = load_command_class("console", "backout")
    schemas = api.document()["components"]["schemas"]
    title = "".join(word.capitalize() for word in kind.name.split("_"))

    assert {METHODS[f"{verb}_{kind.name}"] for verb in DEEDS} == {*DEEDS.values()}
    assert schemas[f"{title}Changes"]["properties"].keys() == kind.attributes.keys()
    assert f"Stored{title}" in schemas
    for verb in ("create", "alter", "delete", "show", "list"):
        backout.get_subcommand(kind.word, verb)  # type: ignore[attr-defined]
