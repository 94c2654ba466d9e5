"""Second factors that are given twice at once, on real connections."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from console.models import CodeTries
from tests.console.second_factors.factors import (
    code_now,
    give_app,
    give_password,
    wrong_code,
)
from tests.make import make_user

pytestmark = pytest.mark.usefixtures("transactional_db")
CODE = reverse("mfa_authenticate")
MANY = 4


def given_at_once(code: str) -> list[int]:
    """How browsers are answered that give one code at the same time."""
    vera = make_user("vera")
    give_app(vera)
    clients = [Client() for _ in range(MANY)]
    for client in clients:
        give_password(client, vera)
    ready = Barrier(MANY)

    def give(client: Client) -> int:
        try:
            ready.wait()
            return client.post(CODE, {"code": code}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(MANY) as pool:
        return sorted(pool.map(give, clients))


def test_of_many_who_give_one_code_one_is_let_in() -> None:
    assert given_at_once(code_now()) == [200, 200, 200, 302]


def test_wrong_codes_at_once_are_each_counted() -> None:
    assert given_at_once(wrong_code()) == [200] * MANY
    assert CodeTries.objects.get().wrong == MANY
