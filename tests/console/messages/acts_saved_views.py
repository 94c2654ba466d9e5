"""Orders for saved views, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from console.messages.acts import ChangeView, DeleteView, SaveView
from console.models import SavedView
from tests.console.act_doors import Example
from tests.make import make_user

NEW = {"name": "Dead ones", "filter": ("state:dead", "row")}


def example(request: type, page: str, **fields: Any) -> Example:
    """An order for a view of somebody else."""

    def make() -> Mapping[str, Any]:
        owner = make_user("olga")
        view = SavedView(slug="ours", name="Ours", filter="row", is_shared=True)
        view.owner = owner
        view.save()
        return {"view": "ours"} | fields

    return Example(
        request,
        page,
        about=("view",),
        make=make,
        absent={"view": "never"} | fields,
        missing="There is no saved view",
        changes=(SavedView,),
        give=give,
    )


def give(user: User) -> None:
    SavedView.objects.update(owner=user)


EXAMPLES = {
    "save_view": Example(
        SaveView,
        "console:save_view",
        about=(),
        make=lambda: NEW,
        absent={},
        missing="",
        changes=(SavedView,),
        is_hidden=False,
    ),
    "change_view": example(ChangeView, "console:edit_view", name="Dead"),
    "delete_view": example(DeleteView, "console:delete_view"),
}
