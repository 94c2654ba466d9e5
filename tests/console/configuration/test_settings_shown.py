"""What the forms of Settings show beside their fields: units, what is inherited, what
the typed values give, what would change, and who changed it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from broker.models import AddressSetting, AuditRecord, Authority, Queue
from broker.queueing.put import put
from tests.console.configuration.settings_forms import fields_of, page, page_of, send
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.make import make_queue, make_setting, make_user

ADD = "/admin/broker/addresssetting/add/"


def post(client: Client, path: str, **fields: Any) -> Any:
    """The answer to the first press of the button."""
    return client.post(path, {**fields_of(client, path), **fields})


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (AddressSetting, "redelivery_delay_ms"),
        (AddressSetting, "discard_retention_s"),
        (Queue, "max_message_bytes"),
    ],
)
def test_no_form_asks_for_raw_units(ada: Client, kind: Any, field: str) -> None:
    form = ada.get(page(kind, "add")).context["adminform"].form
    said = "".join(str(one.label) + str(one.help_text) for one in form)

    assert "_ms" not in said
    assert "in milliseconds" not in said
    assert "a number alone is" in form[field].help_text


def test_units_are_read_stored_and_shown(ada: Client) -> None:
    typed = {"redelivery_delay_ms": "1.5 h", "discard_retention_s": "7d"}
    send(ada, ADD, match="orders.#", **typed)

    setting = AddressSetting.objects.get()
    shown = ada.get(page_of(setting, "change")).content.decode()
    assert (setting.redelivery_delay_ms, setting.discard_retention_s) == (
        5_400_000,
        604_800,
    )
    assert 'value="1 h 30 min"' in shown
    assert "1 h 30 min" in words(
        ada.get("/admin/broker/addresssetting/").content.decode()
    )
    assert "is no duration here" in send(ada, ADD, match="x", expiry_delay_ms="5 pt")


def test_only_what_is_set_or_wrong_is_unfolded(ada: Client) -> None:
    setting = make_setting("orders.#", max_redelivery_delay_ms=5)
    path = page_of(setting, "change")

    assert ada.get(ADD).content.decode().count("<details open>") == 0
    assert ada.get(path).content.decode().count("<details open>") == 1
    wrong = post(ada, path, dead_letter_queue_prefix="x", no_dead_letter_queue_prefix=1)
    assert wrong.content.decode().count("<details open>") == 2


def test_an_empty_field_tells_what_it_inherits(ada: Client) -> None:
    make_setting("#", redelivery_delay_ms=5000, max_delivery_attempts=4)
    make_setting("orders.eu.*", max_delivery_attempts=9)  # more specific: not inherited
    setting = make_setting("orders.#", max_delivery_attempts=7)
    queue = make_queue("orders.eu")

    said = words(ada.get(page_of(setting, "change")).content.decode())
    of_queue = words(ada.get(page_of(queue, "change")).content.decode())

    assert "Inherited: 5 s from setting #" in said
    assert "Overrides: 4 deliveries from setting #" in said
    assert "Default: ± 0 %" in said or "Default: none" in said
    assert "1 queue matches. Settings in effect: orders.eu" in said
    assert "decided by settings that match its address orders.eu: orders.# " in (
        of_queue
    )
    assert "Default: 100 MiB, the limit of the broker" in of_queue


def test_a_preview_draws_what_is_typed_and_saves_nothing(ada: Client) -> None:
    setting = make_setting("orders.#", max_delivery_attempts=3)
    typed = {"redelivery_delay_ms": "2 s", "redelivery_delay_multiplier": "3"}

    answer = post(ada, page_of(setting, "change"), **typed, _preview="1")

    said = words(answer.content.decode())
    assert "After the 3rd failed delivery" in said
    assert "By then it has waited 8 s." in said
    setting.refresh_from_db()
    assert setting.redelivery_delay_ms is None
    assert not AuditRecord.objects.filter(act="settings.change").exists()


def test_what_would_change_is_shown_before_it_is_saved(ada: Client) -> None:
    setting = make_setting("#", redelivery_delay_ms=5000)
    make_setting("news", redelivery_delay_ms=1)
    make_queue("orders")
    make_queue("news")
    put("orders", b"x")
    path = page_of(setting, "change")

    answer = post(ada, path, redelivery_delay_ms="10 min")

    said = words(answer.content.decode())
    assert "Redelivery delay 5 s 10 min" in said
    assert "It changes 1 queue, with 1 message: orders." in said
    assert "On 1 more queue that it matches, nothing changes" in said
    setting.refresh_from_db()
    assert setting.redelivery_delay_ms == 5000
    assert not AuditRecord.objects.filter(act="settings.change").exists()
    token = answer.context["review"].token
    typed = {"redelivery_delay_ms": "10 min", "_reviewed": token}

    AddressSetting.objects.filter(pk=setting.pk).update(redelivery_delay_ms=7)
    changed = post(ada, path, **typed)
    assert "This is not what you saw before" in words(changed.content.decode())

    typed["_reviewed"] = changed.context["review"].token
    assert post(ada, path, **typed).status_code == 302
    setting.refresh_from_db()
    assert setting.redelivery_delay_ms == 600_000


def test_what_concerns_nothing_yet_is_saved_at_once(ada: Client) -> None:
    queue = make_queue("orders")

    assert post(ada, ADD, match="news.#", expiry_address="x").status_code == 302
    said = {"description": "What customers buy.", "contact": "the shop"}
    assert post(ada, page_of(queue, "change"), **said).status_code == 302
    held = post(ada, page_of(queue, "change"), max_depth=5)
    assert "It holds no messages now." in words(held.content.decode())


def test_rights_are_shown_with_whom_and_what_they_concern(ada: Client) -> None:
    group = Group.objects.create(name="night shift")
    make_user("omar").groups.add(group)
    make_queue("orders.eu")
    given = {"group": group.pk, "pattern": "orders.*", "may_inquire": "on"}

    said = words(post(ada, page(Authority, "add"), **given).content.decode())

    assert "It concerns 1 user: omar." in said
    assert "It is on 1 queue: orders.eu." in said
    assert not Authority.objects.filter(group=group).exists()


def test_the_history_tells_each_field_before_and_after(
    ada: Client, sign_in: SignIn
) -> None:
    setting = make_setting("orders.#", redelivery_delay_ms=5000)
    send(ada, page_of(setting, "change"), redelivery_delay_ms="10 min")
    path = page_of(setting, "history")

    said = words(ada.get(path).content.decode())

    assert "Redelivery delay 5 s 10 min" in said
    assert ada.get("/admin/broker/addresssetting/999/history/").status_code == 302
    user = User.objects.get(pk=ada.session["_auth_user_id"])
    user.is_superuser = False
    user.save()
    user.groups.clear()
    user.user_permissions.set(Permission.objects.filter(codename="view_addresssetting"))
    assert ada.get(path).status_code == 403
