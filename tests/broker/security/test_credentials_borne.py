"""A secret that comes without a name, as requests bear it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from broker.models import Credential
from broker.security import credentials
from tests.make import NOON, make_user, seconds

pytestmark = pytest.mark.django_db


def test_a_secret_alone_is_known_by_one_statement_as_long_as_it_is_good(
    statements: list[str],
) -> None:
    credential, secret = credentials.create(
        "billing", make_user(), expires_at=NOON, patterns="orders", may_get=False
    )
    early = NOON - seconds(1)

    found = credentials.bearer(secret, now=early)

    assert statements == ["bearer"]
    assert found == credential
    assert (found.patterns, found.may_get, found.may_put) == ("orders", False, True)
    assert found.expires_at == NOON
    assert found.user == credential.user
    assert found.user.get_username() == credential.user.get_username()
    assert found.created_at == Credential.objects.get().created_at  # read if need be
    assert credentials.bearer(secret) is None, "by the real clock"
    assert credentials.bearer(secret, now=NOON) is None
    assert credentials.bearer(secret[:-1], now=early) is None
    User.objects.update(is_active=False)
    assert credentials.bearer(secret, now=early) is None
    User.objects.update(is_active=True)
    assert credentials.revoke(credential, None)
    assert credentials.bearer(secret, now=early) is None
