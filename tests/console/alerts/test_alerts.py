"""The pages of alerts, and their rights."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from broker.acts import act
from broker.acts.alerts import AcknowledgeAlert, AcknowledgeAlerts
from broker.alerts import sight
from broker.alerts.evaluation import evaluate
from broker.errors.alerts import NotFiring
from broker.models import Alert, AlertRule, AlertSilence, AuditRecord
from console.alerts.places import of_alert
from tests.console.alerts.alert_acts import make_alert, make_mail_target
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import words
from tests.console.principals import signed_in
from tests.make import make_queue, make_user


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


def test_one_button_acknowledges_all_alerts_of_a_cause(ada: Client) -> None:
    make_places(attempts=1)
    for _ in range(2):
        letter = die(attempts=1, now=timezone.now())
    AlertRule.objects.all().delete()
    for condition in ("new_cause", "dead_letter_growth", "dead_letters"):
        AlertRule.objects.create(name=condition, condition=condition, threshold=2)
    evaluate()
    page = ada.get("/alerts/").content.decode()
    rows = re.findall(r'<li id="cause-.*?</li>', page, re.DOTALL)
    (row,) = (one for one in rows if "Acknowledge" in one)
    (numbers,) = re.findall(r'type="hidden" name="alerts" value="([\d ]+)"', row)

    answer = ada.post("/alerts/acknowledge/", {"alerts": numbers}, follow=True)

    assert row.count('class="chip') == 1 + 3  # what is wrong, and the rules
    assert f"/dead/{letter.fingerprint}/" in row
    assert "3 alerts acknowledged." in words(answer.content.decode())
    assert not Alert.objects.filter(state=Alert.State.FIRING).exists()


def test_some_rows_are_acknowledged_and_the_others_go_on(ada: Client) -> None:
    first, second, third = (make_alert(name) for name in ("a", "b", "c"))
    picked = {"alerts": [str(first.pk), str(second.pk)]}

    ada.post("/alerts/acknowledge/", picked)
    nothing = ada.post("/alerts/acknowledge/", {}, follow=True)

    third.refresh_from_db()
    assert third.state == Alert.State.FIRING
    assert Alert.objects.filter(state=Alert.State.ACKNOWLEDGED).count() == 2
    assert "Select the rows to acknowledge" in words(nothing.content.decode())


@pytest.mark.usefixtures("db")
def test_all_are_those_that_one_may_see() -> None:
    hidden, shown = make_alert("bills"), make_alert("orders")
    may = ("broker.view_queue", sight.OPERATE)
    omar = make_user("omar", permissions=may, pattern="orders")

    done = act(omar, AcknowledgeAlerts())

    assert [one.id for one in done.alerts] == [shown.pk]
    hidden.refresh_from_db()
    assert hidden.state == Alert.State.FIRING


@pytest.mark.usefixtures("db")
def test_an_alert_is_acknowledged_with_the_others_of_its_queue() -> None:
    one = make_alert("orders")
    rule = AlertRule.objects.create(name="old", condition="age", threshold=1)
    other = make_alert("orders", rule=rule, condition="age")
    may = ("broker.view_queue",)
    vera = signed_in("vera", may, ("inquire",), pattern="#").client()
    said = read(vera, f"/alerts/{one.pk}/")
    assert "Other rules that fire for this cause: old, warning alert" in said

    act(None, AcknowledgeAlert(one.pk))

    other.refresh_from_db()
    assert other.state == Alert.State.ACKNOWLEDGED
    with pytest.raises(NotFiring):
        act(None, AcknowledgeAlert(one.pk))


@pytest.mark.parametrize(
    ("condition", "subject", "url"),
    [
        ("link_failed", "shop/out", "/bridges/shop/out/"),
        ("unit_lost", "unit of work 7", "/uow/7/"),
        ("approval", "operation 7", "/operations/7/"),
        ("paused", "orders", "/queues/orders/"),
        ("delayed_late", "orders", "/scheduled/?queue=orders"),
        ("disk", "/disk", "/health/"),
        ("gone with its application", "orders", "/queues/orders/"),
    ],
)
def test_an_alert_leads_to_its_cause(condition: str, subject: str, url: str) -> None:
    queue = "orders" if subject == "orders" else ""
    alert = Alert(condition=condition, subject=subject, queue=queue)

    assert of_alert(alert)[0] == url


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
    assert "silenced until" in read(ada, "/alerts/")
    ada.post(f"/alerts/silences/{silence.pk}/end/")

    assert "silenced until" not in read(ada, "/alerts/")


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
