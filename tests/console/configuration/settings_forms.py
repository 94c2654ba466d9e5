"""The pages of settings, as a browser fills and sends them."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.test import Client

from tests.console.messages.test_messages import words


def page(model: type[Model] | Model, what: str) -> str:
    """The admin's page that adds a model's rows, or changes or deletes one."""
    folder = f"/admin/broker/{model._meta.model_name}/"
    return f"{folder}{what}/" if isinstance(model, type) else page_of(model, what)


def page_of(row: Model, what: str) -> str:
    return f"/admin/broker/{row._meta.model_name}/{row.pk}/{what}/"


def fields_of(client: Client, path: str) -> dict[str, Any]:
    """What a form shows, as a browser sends it back."""
    form = client.get(path).context["adminform"].form
    return {
        field.html_name: field.value()
        for field in form
        if field.value() is not None
        and not (field.widget_type == "checkbox" and field.value() is False)
    }


def send(client: Client, path: str, **fields: Any) -> str:
    """What a person reads who changes these fields of a form, and saves it."""
    answer = saved(client, path, {**fields_of(client, path), **fields})
    assert answer.status_code == 200
    return words(answer.content.decode())


def saved(client: Client, path: str, typed: dict[str, Any]) -> Any:
    """The answer to a form that is sent, and confirmed if it shows what changes."""
    answer = client.post(path, typed, follow=True)
    review = (answer.context or {}).get("review")
    if review is None:
        return answer
    return client.post(path, {**typed, "_reviewed": review.token}, follow=True)


def warnings(client: Client, path: str, **fields: Any) -> list[str]:
    answer = saved(client, path, {**fields_of(client, path), **fields})
    return [
        str(one) for one in answer.context["messages"] if one.level_tag == "warning"
    ]
