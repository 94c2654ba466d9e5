"""Settings of every kind leave records, with what was before and what after."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from broker.config import imports
from broker.models import Act, AddressSetting, AuditRecord, Queue
from console import urls  # noqa: F401  the URLs fill the site
from console.configuration import site as settings_site
from console.configuration.site import AuditedAdmin
from console.runtime import first_run
from tests.broker.auditing import detail, last
from tests.console.configuration.settings_forms import fields_of, page, send
from tests.console.conftest import SignIn
from tests.make import make_queue, make_setting, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    client = sign_in("administrator")
    User.objects.update(is_superuser=True)
    return client


def records() -> list[tuple[str, str, str]]:
    rows = AuditRecord.objects.filter(actor_kind="user").order_by("pk")
    found = rows.values_list("act", "object_kind", "object_name")
    return [row for row in found if row[0] != Act.SIGN_IN]


def test_every_page_of_settings_is_audited() -> None:
    assert [
        model.__name__
        for model, one in settings_site.site._registry.items()
        if not isinstance(one, AuditedAdmin)
    ] == []


def test_a_queue_is_created_changed_and_deleted(ada: Client) -> None:
    feeds = make_queue("other").address
    said = {"name": "orders", "address": feeds.pk}
    send(ada, page(Queue, "add"), **said)
    assert detail()["changed"]["name"] == {"after": "orders"}
    queue = Queue.objects.get(name="orders")

    send(ada, page(queue, "change"), max_depth=5, put_inhibited="on")
    assert detail()["changed"] == {
        "guarded": {"before": False, "after": True},
        "max_depth": {"before": None, "after": 5},
        "put_inhibited": {"before": False, "after": True},
    }

    ada.post(page(queue, "delete"), {"post": "yes"})
    assert detail()["changed"]["max_depth"] == {"before": 5}
    assert records() == [
        ("settings.create", "queue", "orders"),
        ("settings.change", "queue", "orders"),
        ("settings.delete", "queue", "orders"),
    ]


def test_several_that_are_deleted_at_once_each_leave_a_record(ada: Client) -> None:
    chosen = [make_setting("orders").pk, make_setting("invoices").pk]
    said = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}

    ada.post(reverse("admin:broker_addresssetting_changelist"), said)

    assert not AddressSetting.objects.exists()
    assert sorted(records()) == [
        ("settings.delete", "address setting", "invoices"),
        ("settings.delete", "address setting", "orders"),
    ]


def test_what_is_refused_in_a_form_leaves_none(ada: Client) -> None:
    queue = make_queue()
    send(ada, page(queue, "change"), name="")
    assert records() == []


def test_groups_and_what_they_may_are_read_after_they_are_set(ada: Client) -> None:
    group = Group.objects.create(name="night shift")
    omar = make_user("omar")
    may = Permission.objects.get(codename="pause_queue")

    ada.post(
        reverse("admin:auth_group_change", args=[group.pk]),
        {"name": group.name, "permissions": [may.pk]},
    )
    assert detail()["changed"] == {"permissions": {"before": [], "after": [str(may)]}}

    path = reverse("admin:auth_user_change", args=[omar.pk])
    typed = fields_of(ada, path) | split_moments(omar) | {"groups": [group.pk]}
    answer = ada.post(path, typed)
    assert answer.status_code == 302, answer.context["errors"]
    assert detail()["changed"]["groups"] == {"before": [], "after": ["night shift"]}


def split_moments(user: User) -> dict[str, Any]:
    at = user.date_joined
    return {"date_joined_0": at.date(), "date_joined_1": at.time(), "last_login": ""}


def test_a_password_is_recorded_as_set_and_never_as_it_is(ada: Client) -> None:
    omar = make_user("omar")
    path = reverse("admin:auth_user_password_change", args=[omar.pk])
    new = {"password1": "battery staple 7", "password2": "battery staple 7"}

    answer = ada.post(path, new | {"usable_password": "true"})

    assert answer.status_code == 302
    assert records() == [("account.set_password", "account", "omar")]
    stored = "".join(f"{r.reason}{r.detail}" for r in AuditRecord.objects.all())
    assert "battery" not in stored
    assert User.objects.get(username="omar").password not in stored


def test_an_account_that_is_made_in_settings_leaves_one_record(ada: Client) -> None:
    new = {"password1": "battery staple 7", "password2": "battery staple 7"}
    path = reverse("admin:auth_user_add")

    answer = ada.post(path, new | {"username": "eve", "usable_password": "true"})

    assert answer.status_code == 302
    assert records() == [("settings.create", "user", "eve")]
    assert detail()["changed"]["password"] == {"after": "not shown"}


def test_an_import_leaves_a_record_of_each_setting_that_it_changes(
    ada: Client,
) -> None:
    make_setting("orders", max_delivery_attempts=3)
    make_setting("invoices")
    text = imports.FORMATS["json"](
        [
            AddressSetting(match="orders", max_delivery_attempts=5),
            AddressSetting(match="payments", max_delivery_attempts=7),
        ]
    )
    path = reverse("admin:broker_addresssetting_import")
    said = {"text": text, "mode": "replace"}
    again = ada.post(path, said).context["again"].initial

    ada.post(path, again | {"apply": "yes"})

    assert sorted(records()) == [
        ("settings.change", "address setting", "orders"),
        ("settings.create", "address setting", "payments"),
        ("settings.delete", "address setting", "invoices"),
    ]
    changed = detail(AuditRecord.objects.get(object_name="orders"))
    assert changed == {
        "imported": "replace",
        "changed": {"max_delivery_attempts": {"before": 3, "after": 5}},
    }


def test_commands_leave_records_of_who_ran_them(tmp_path: Any) -> None:
    text = imports.FORMATS["json"]([AddressSetting(match="orders")])
    (tmp_path / "settings.json").write_text(text)
    out = io.StringIO()
    call_command(
        "broker_settings",
        *("import", str(tmp_path / "settings.json"), "--apply"),
        stdout=out,
    )
    first_run.make_administrator("grace")

    found = AuditRecord.objects.order_by("pk").values_list("actor_kind", "act")
    assert list(found) == [
        ("system", "settings.create"),
        ("system", "account.create"),
        ("system", "account.set_password"),
        ("system", "settings.change"),
    ]
    assert last().actor
    assert detail()["changed"]["is_superuser"] == {"before": False, "after": True}


def test_what_cannot_be_recorded_is_not_changed(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = make_queue()
    typed = fields_of(ada, page(queue, "change")) | {"max_depth": 5}
    ada.raise_request_exception = False

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr("broker.security.audit.records.write", broken)
    with transaction.atomic():
        answer = ada.post(page(queue, "change"), typed)

    assert answer.status_code == 500
    queue.refresh_from_db()
    assert queue.max_depth is None


def test_signing_in_is_recorded_also_where_it_fails(client: Client) -> None:
    make_user("omar")
    before = AuditRecord.objects.count()
    path = reverse("account_login")

    client.post(path, {"username": "omar", "password": "wrong secret"})
    client.post(path, {"username": "hunter2 typed here", "password": "x"})
    client.post(path, {"username": "omar", "password": "correct horse"})
    client.post(reverse("console:logout"))

    found = AuditRecord.objects.order_by("pk")[before:]
    assert [(r.act, r.outcome, r.actor, r.object_name) for r in found] == [
        ("account.sign_in", "refused", "", "omar"),
        ("account.sign_in", "refused", "", ""),
        ("account.sign_in", "done", "omar", "omar"),
        ("account.sign_out", "done", "omar", "omar"),
    ]
    stored = "".join(f"{r.object_name}{r.reason}{r.detail}" for r in found)
    assert "hunter2" not in stored
    assert "wrong secret" not in stored
