"""The log tells the reasons for refused logins apart; clients are told none."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from broker.amqp.clients import login as reasons
from broker.security import credentials
from tests.amqp.listening import listener
from tests.amqp.test_identity import refused
from tests.console.until import until

pytestmark = pytest.mark.usefixtures("transactional_db")


def test_each_reason_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "broker.amqp")
    User.objects.create_user("person", password="right")
    User.objects.create_user("gone", password="right", is_active=False)
    with listener() as here:
        credentials.create("shop", here.user)
        revoked, _ = credentials.create("revoked", here.user)
        credentials.revoke(revoked, here.user, reason="test")
        past = timezone.now() - timedelta(days=1)
        credentials.create("old", here.user, expires_at=past)
        expected = {
            "nobody": reasons.NO_NAME,
            "person": reasons.USER_REFUSED,
            "gone": reasons.INACTIVE,
            "shop": reasons.CREDENTIAL_REFUSED,
            "revoked": reasons.REVOKED,
            "old": reasons.EXPIRED,
        }
        for name in expected:
            refused(here, name, "wrong")

        for name, why in expected.items():
            until(lambda name=name, why=why: is_logged(caplog, name, why))  # type: ignore[misc]


def is_logged(caplog: pytest.LogCaptureFixture, name: str, why: str) -> bool:
    return any(
        f"Login of '{name}'" in line and line.endswith(f"refused: {why}")
        for line in caplog.messages
    )
