"""Address settings leave the admin as files, and come back after a look."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.html import escape

from broker.config import artemis_xml, documents
from broker.config.documents import defined
from broker.models import Act, AddressSetting
from tests.console.messages.test_messages import words
from tests.console.recorded import deeds
from tests.make import make_setting, make_user

LIST = "/admin/broker/addresssetting/"
IMPORT, EXPORT = f"{LIST}import/", f"{LIST}export/"
XML = """<address-settings>
  <address-setting match="orders.#">
    <max-delivery-attempts>5</max-delivery-attempts>
    <expiry-address/>
    <max-size-bytes>7</max-size-bytes>
  </address-setting>
</address-settings>"""


def contents() -> dict[str, dict[str, Any]]:
    return {one.match: defined(one) for one in AddressSetting.objects.all()}


def confirmed(client: Client, **fields: Any) -> Any:
    """The answer to a preview that is applied as it stands."""
    shown = client.post(IMPORT, {"mode": "merge", **fields})
    again = shown.context["again"].initial
    return client.post(IMPORT, {**again, "apply": "Apply"}, follow=True)


@pytest.mark.parametrize("form", ["json", "xml"])
def test_all_settings_are_exported_as_a_file(ada: Client, form: str) -> None:
    make_setting("orders.#", max_delivery_attempts=3, dead_letter_address="")
    read = {"json": documents.read, "xml": artemis_xml.read}[form]

    answer = ada.get(EXPORT, {"format": form})

    assert {one.match: defined(one) for one in read(answer.content).settings} == (
        contents()
    )
    assert f'filename="address-settings.{form}"' in answer["Content-Disposition"]
    assert f"application/{form}" in answer["Content-Type"]
    assert ada.get(EXPORT, {"format": "yaml"}).status_code == 403


@pytest.mark.spec("MATCH-5", "MATCH-6")
def test_an_import_is_looked_at_before_it_is_applied(ada: Client) -> None:
    make_setting("orders.#", max_delivery_attempts=3, no_expiry=True)
    before = contents()
    file = SimpleUploadedFile("broker.xml", XML.encode())

    shown = ada.post(IMPORT, {"mode": "merge", "file": file})
    said = words(shown.content.decode())

    assert contents() == before
    assert "0 added, 1 changed, 0 removed, 0 unchanged. Nothing is done yet." in said
    assert "max delivery attempts 3 5" in said
    assert "expiry address not defined none" in said
    assert "max-size-bytes 7 of orders.#, line 5" in said
    again = shown.context["again"].initial
    done = ada.post(IMPORT, {**again, "apply": "Apply"}, follow=True)
    assert "Imported: 1 changed." in done.content.decode()
    assert contents() == {
        "orders.#": {
            "max_delivery_attempts": 5,
            "expiry_address": "",
            "no_expiry": True,
        }
    }


def test_who_imported_what_is_written_down(ada: Client) -> None:
    make_setting("old", no_expiry=True)
    make_setting("orders.#", max_delivery_attempts=3)
    more = XML.replace(
        "</address-settings>", '<address-setting match="new"/></address-settings>'
    )

    confirmed(ada, mode="replace", text=more)

    written = {one.object_name: one for one in deeds()}
    assert {name: (one.act, one.actor) for name, one in written.items()} == {
        "orders.#": (Act.CHANGE, "administrator"),
        "new": (Act.CREATE, "administrator"),
        "old": (Act.DELETE, "administrator"),
    }
    changed = written["orders.#"].details["changed"]
    assert changed["max_delivery_attempts"] == {"before": 3, "after": 5}


def test_what_changed_since_the_preview_is_shown_again_and_not_applied(
    ada: Client,
) -> None:
    setting = make_setting("orders.#", max_delivery_attempts=3)
    shown = ada.post(IMPORT, {"mode": "merge", "text": XML})
    AddressSetting.objects.filter(pk=setting.pk).update(max_delivery_attempts=9)

    answer = ada.post(IMPORT, {**shown.context["again"].initial, "apply": "Apply"})

    assert "have changed since this preview" in answer.content.decode()
    assert "max delivery attempts 9 5" in words(answer.content.decode())
    assert contents() == {"orders.#": {"max_delivery_attempts": 9}}
    assert deeds() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Choose a file or paste its text: one of them."),
        ("<a>", "Nothing was imported. Line 1, column 4: This is no XML"),
        (
            XML.replace("orders.#", "<b>.#.x").replace("<b>", "&lt;b&gt;"),
            "# can only be the last word of a pattern.",
        ),
    ],
)
def test_what_is_wrong_is_said_at_the_form(ada: Client, text: str, said: str) -> None:
    answer = ada.post(IMPORT, {"mode": "merge", "text": text, "apply": "Apply"})

    assert said in words(answer.content.decode())
    assert "<b>" not in answer.content.decode()
    assert not AddressSetting.objects.exists()


def test_what_an_import_means_is_warned_about(ada: Client) -> None:
    text = XML.replace(">5<", ">0<")

    done = confirmed(ada, text=text)

    assert escape("allows 0 delivery attempts, which means no") in done.content.decode()


def test_importing_what_is_there_changes_nothing(ada: Client) -> None:
    make_setting("orders.#", max_delivery_attempts=5, expiry_address="")

    shown = ada.post(IMPORT, {"mode": "replace", "text": XML}).content.decode()
    confirmed(ada, text=XML, mode="replace")

    assert "There is nothing to do." in shown
    assert 'name="apply"' not in shown
    assert deeds() == []


def test_exchange_needs_permissions(client: Client, db: None) -> None:
    looks, adds = (f"broker.{one}_addresssetting" for one in ("view", "add"))
    changes = "broker.change_addresssetting"
    make_setting("old", no_expiry=True)
    vera = make_user("vera", permissions=(looks,))
    ada = make_user("ada", permissions=(looks, adds, changes))
    for user in (vera, ada):
        user.is_staff = True
        user.save()

    client.force_login(vera)
    assert client.get(EXPORT).status_code == 200
    assert client.get(IMPORT).status_code == 403
    assert IMPORT not in client.get(LIST).content.decode()
    client.force_login(ada)
    assert IMPORT in client.get(LIST).content.decode()
    assert client.post(IMPORT, {"mode": "merge", "text": XML}).status_code == 200
    assert client.post(IMPORT, {"mode": "replace", "text": XML}).status_code == 403
    client.force_login(make_user("omar"))
    assert client.get(EXPORT).status_code == 302
