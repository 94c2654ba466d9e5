"""The pages of alerts, and their rights."""

from __future__ import annotations

import pytest
from django.core import mail
from django.test import Client

from broker.alerts import sight
from broker.models import Alert, AlertSilence, AuditRecord
from tests.console.alerts.alert_acts import make_alert, make_mail_target
from tests.console.messages.test_messages import words
from tests.console.principals import signed_in
from tests.make import make_queue


def read(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return words(answer.content.decode())


@pytest.mark.parametrize("path", ["/alerts/", "/"])
def test_what_fires_is_shown_and_acknowledged_where_it_is_shown(
    ada: Client, path: str
) -> None:
    make_queue()
    alert = make_alert()
    assert "orders: 5 messages." in read(ada, path)

    where = f"/alerts/{alert.pk}/acknowledge/"
    answer = ada.post(where, {"next": path, "reason": "on it"}, follow=True)

    assert answer.redirect_chain == [(path, 302)]
    alert.refresh_from_db()
    assert alert.state == Alert.State.ACKNOWLEDGED
    story = read(ada, f"/alerts/{alert.pk}/")
    assert "Acknowledged on it" in story


def test_looking_changes_nothing(ada: Client) -> None:
    alert = make_alert()

    for path in ("acknowledge", "silence"):
        assert ada.get(f"/alerts/{alert.pk}/{path}/").status_code == 405
    read(ada, f"/alerts/{alert.pk}/")

    alert.refresh_from_db()
    assert alert.state == Alert.State.FIRING


def test_an_alert_is_silenced_and_heard_again(ada: Client) -> None:
    make_queue()
    alert = make_alert()

    ada.post(f"/alerts/{alert.pk}/silence/", {"until": "4 h", "scope": "queue"})
    silence = AlertSilence.objects.get()
    assert (silence.queues, silence.rule) == ("orders", None)
    assert "silenced" in read(ada, "/alerts/")
    ada.post(f"/alerts/silences/{silence.pk}/end/")

    assert "queue orders" not in read(ada, "/alerts/")


@pytest.mark.usefixtures("db")
def test_the_badge_counts_what_one_may_see() -> None:
    make_queue()
    make_alert()
    vera = signed_in(
        "vera", ("broker.view_queue",), ("inquire",), pattern="other"
    ).client()
    assert "orders" not in read(vera, "/alerts/")
    assert "1 firing" not in read(vera, "/alerts/")


def test_a_redirect_goes_nowhere_else(ada: Client) -> None:
    alert = make_alert()
    said = {"next": "//evil.example/"}

    answer = ada.post(f"/alerts/{alert.pk}/acknowledge/", said)

    assert answer.headers["Location"] == "/alerts/"


def test_a_test_tells_what_the_other_side_answered(ada: Client) -> None:
    target = make_mail_target()

    answer = ada.post(f"/alerts/targets/{target.name}/test/", follow=True)

    assert "took it for ops@example.org" in words(answer.content.decode())
    (sent,) = mail.outbox
    assert "This is a test" in str(sent.body)
    assert AuditRecord.objects.get(act="alert.test").object_name == "ops"


@pytest.mark.usefixtures("db")
def test_who_sees_one_queue_silences_no_whole_rule() -> None:
    make_queue()
    alert = make_alert()
    may = ("broker.view_queue", sight.OPERATE)
    omar = signed_in("omar", may, ("inquire",), pattern="orders").client()

    omar.post(f"/alerts/{alert.pk}/silence/", {"until": "1 h", "scope": "rule"})

    assert not AlertSilence.objects.exists()


def test_the_settings_take_human_units(ada: Client) -> None:
    where = "/admin/broker/alertrule/add/"
    said = {
        "name": "old", "condition": "age", "queues": "#", "threshold": "10 min",
        "within_s": "1 h", "for_s": "2 min", "severity": "critical",
        "repeat_s": "4 h", "escalate_after_s": "15 min", "enabled": "on",
    }  # fmt: skip

    wrong = ada.post(where, said | {"threshold": "soon"})
    assert "Write a number and a unit" in words(wrong.content.decode())
    ada.post(where, said)

    page = read(ada, "/alerts/")
    assert "the oldest message has waited 10 min or more, for 2 min" in page
