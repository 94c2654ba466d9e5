"""Notifications reach real servers: signed, redelivered, dead-lettered, not lost."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from environ import Env
from pytest_django import Settings

from broker import sql
from broker.alerts import acts
from broker.alerts.evaluation import LOCK_CLASS, evaluate
from broker.alerts.handler import deliver
from broker.alerts.names import DEAD, QUEUE
from broker.errors.alerts import NotDelivered
from broker.models import Alert, AlertRule, AlertTarget, Claim, Delayed
from broker.queueing import delayed
from broker.settlement import settle
from broker.sql import database_now
from console.runtime import mail_settings
from tests.broker.alerts import receivers
from tests.broker.alerts.making import SECRET, empty, make_firing, make_target, told
from tests.broker.alerts.receivers import Receiver
from tests.broker.dying import on
from tests.broker.elsewhere import Elsewhere, kill, process
from tests.broker.handling import handle_next, handler
from tests.make import NOON, minutes

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _local_is_allowed(transactional_db: None, settings: Settings) -> None:
    AlertRule.objects.all().delete()
    settings.BACKOUT_ALERT_HTTP = True
    settings.BACKOUT_ALERT_NETWORKS = ["127.0.0.0/8"]
    settings.BACKOUT_URL = "https://backout.example/ops/"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receivers.http() as one:
        yield one


@pytest.fixture
def mail(settings: Settings) -> Iterator[Receiver]:
    with receivers.smtp() as one:
        found = Env.email_url_config(f"smtp://127.0.0.1:{one.port}")
        for name, value in mail_settings.of(found).items():
            setattr(settings, name, value)
        settings.DEFAULT_FROM_EMAIL = "Backout <backout@example.org>"
        yield one


def deliver_next() -> int:
    return handle_next(handler(deliver, queue=QUEUE, join=False))


def make_due() -> None:
    """Redeliver now what waits for its redelivery."""
    delayed.wake_due(limit=10, now=database_now() + HOUR)


def test_a_webhook_is_signed_as_standard_webhooks_say(receiver: Receiver) -> None:
    alert = make_firing(make_target(address=receiver.url))

    assert deliver_next()

    (request,) = receiver.requests
    headers = {name.lower(): value for name, value in request.headers.items()}
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode()
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    digest = hmac.digest(key, signed + request.body, hashlib.sha256)
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    said = json.loads(request.body)
    assert (said["type"], said["rule"], said["total"]) == ("alert.firing", "deep", 1)
    assert said["alerts"][0]["text"] == "orders: 1 message on the queue."
    url = f"https://backout.example/ops/alerts/{alert.pk}/"
    assert said["alerts"][0]["url"] == url
    story = [one.kind for one in alert.events.all()]
    assert story == ["fired", "notified", "delivered"]
    assert AlertTarget.objects.get().told_at is not None


def test_what_is_not_taken_is_redelivered_with_the_same_key(receiver: Receiver) -> None:
    alert = make_firing(make_target(address=receiver.url))
    receiver.answers = [500, 200]

    deliver_next()
    target = AlertTarget.objects.get()
    assert "500" in target.error
    assert Delayed.objects.count() == 1
    make_due()
    deliver_next()

    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    target.refresh_from_db()
    assert (target.error, target.error_at) == ("", None)
    story = [one.kind for one in alert.events.all()]
    assert story == ["fired", "notified", "failed", "delivered"]


def test_what_the_other_side_refuses_for_good_is_a_dead_letter(
    receiver: Receiver,
) -> None:
    make_firing(make_target(address=receiver.url))
    receiver.answers = [404]

    deliver_next()

    assert len(on(DEAD)) == 1
    before = Alert.objects.count()
    evaluate(now=NOON + minutes(1))
    assert Alert.objects.count() == before  # no alert about it


def test_attempts_are_limited(receiver: Receiver) -> None:
    make_firing(make_target(address=receiver.url))
    receiver.answers = [503] * 20
    while not on(DEAD):
        deliver_next()
        make_due()

    assert len(receiver.requests) == 12


def test_a_mail_reaches_its_server(mail: Receiver) -> None:
    ops = make_target("ops", "email", secret="", address="a@example.org, b@example.org")
    alert = make_firing(ops, severity="critical")

    assert deliver_next()

    ((to, message),) = mail.mails
    assert to == ["a@example.org", "b@example.org"]
    words = "[BACKOUT] critical firing: orders: 1 message on the queue."
    assert message["Subject"].replace("\n", "") == words
    assert message["Message-ID"].startswith("<backout-")
    assert f"/alerts/{alert.pk}/" in message.get_payload()


def test_slack_gets_text_that_cannot_mention_anybody(receiver: Receiver) -> None:
    slack = make_target("slack", "slack", secret=f"{receiver.url}/T0/B0/key")
    alert = make_firing(slack)
    Alert.objects.filter(pk=alert.pk).update(text="x <!channel> & y", fired_at=None)
    alert.refresh_from_db()
    said = acts.try_out(slack)

    deliver_next()

    assert said == "It answered 200: noted"
    test, firing = (json.loads(one.body)["text"] for one in receiver.requests)
    assert "This is a test" in test
    assert "orders: 1 message on the queue." in firing
    assert receiver.requests[0].path == "/hook/T0/B0/key"


def test_pagerduty_triggers_acknowledges_and_resolves_one_incident(
    receiver: Receiver,
) -> None:
    pager = make_target("pager", "pagerduty", secret="key1", address=receiver.url)
    alert = make_firing(pager, severity="critical")
    deliver_next()
    acts.acknowledge([alert.pk], now=NOON)
    deliver_next()
    empty()
    evaluate(now=NOON + minutes(2))
    deliver_next()

    events = [json.loads(one.body) for one in receiver.requests]
    actions = [one["event_action"] for one in events]
    assert actions == ["trigger", "acknowledge", "resolve"]
    assert {one["dedup_key"] for one in events} == {f"BACKOUT-alert-{alert.pk}"}
    assert {one["routing_key"] for one in events} == {"key1"}
    assert events[0]["payload"]["severity"] == "critical"


def test_a_late_trigger_of_what_is_over_is_not_sent(receiver: Receiver) -> None:
    make_firing(make_target(address=receiver.url))
    empty()
    evaluate(now=NOON + minutes(2))

    while deliver_next():
        pass

    types = [json.loads(one.body)["type"] for one in receiver.requests]
    assert types == ["alert.resolved"]


def test_secrets_are_in_no_message_error_or_story(receiver: Receiver) -> None:
    slack = make_target("slack", "slack", secret=f"{receiver.url}/T0/B0/s3cret")
    alert = make_firing(slack)
    receiver.answers = [500]
    deliver_next()
    with pytest.raises(NotDelivered) as refusal:
        receiver.answers = [500]
        acts.try_out(slack)

    slack.refresh_from_db()
    seen = [slack.error, slack.secret, str(refusal.value), json.dumps(told())]
    seen += [one.detail for one in alert.events.all()]
    assert not [one for one in seen if "s3cret" in one]


DELIVER = """
from django.conf import settings
settings.BACKOUT_ALERT_HTTP = True
settings.BACKOUT_ALERT_NETWORKS = ["127.0.0.0/8"]
from broker.alerts.handler import deliver
from tests.broker.handling import handle_next, handler
handle_next(handler(deliver, queue="backout.alerts", join=False))
"""


def test_none_is_lost_if_the_process_that_delivers_is_killed(
    receiver: Receiver,
) -> None:
    """It was sent and not accepted: it is sent again, with the same key."""
    make_firing(make_target(address=receiver.url))
    receiver.may_answer.clear()
    with process(DELIVER) as other:
        assert receiver.arrived.wait(30)
        kill(other)
    receiver.may_answer.set()
    assert Claim.objects.count() == 1

    assert settle.back_out_overdue(limit=10) == 1
    make_due()
    assert deliver_next()

    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert Alert.objects.get().events.last().kind == "delivered"  # type: ignore[union-attr]


def test_one_process_evaluates_at_a_time(elsewhere: Elsewhere) -> None:
    elsewhere.begin()
    elsewhere(sql.fetch_one, "take_alerts_turn", lock_class=LOCK_CLASS)

    assert not evaluate(now=NOON)
    elsewhere.roll_back()
    assert evaluate(now=NOON)
