"""Many logins at once: with one password, with a wrong one, and of clients that go."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from broker.amqp.protocol.performatives import SaslOutcome
from tests.amqp.listening import PASSWORD, listener
from tests.amqp.test_identity import at_once, outcome
from tests.console.until import until


def test_a_herd_with_one_right_password_is_let_in_whole(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(User, "check_password", slowly(User.check_password))
    with listener(failures_per_name=3) as here:
        wires = [here.dial() for _ in range(40)]
        for wire in wires:
            wire.socket.sendall(at_once("amelia", PASSWORD))
        assert all(outcome(wire) == SaslOutcome(0) for wire in wires)


def test_a_wrong_password_that_many_try_at_once_counts_once(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(User, "check_password", slowly(User.check_password))
    with listener(failures_per_name=2) as here:
        wires = [here.dial() for _ in range(10)]
        for wire in wires:
            wire.socket.sendall(at_once("amelia", "stale"))
        assert all(outcome(wire) == SaslOutcome(1) for wire in wires)

        here.client().close()  # one was counted, of two that are allowed


@pytest.mark.thorough
def test_the_work_of_clients_that_are_gone_is_not_done(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[str] = []
    really = User.check_password

    def slow(user: User, password: str) -> bool:
        checks.append(password)
        time.sleep(1)
        return really(user, password)

    monkeypatch.setattr(User, "check_password", slow)
    with listener() as here:
        wires = [here.dial() for _ in range(9)]
        for number, wire in enumerate(wires):
            wire.socket.sendall(at_once("amelia", f"guess {number}"))
        until(lambda: len(checks) >= 1)
        for wire in wires:
            wire.socket.close()

        here.client().close()

    assert len(checks) < 6  # those that had begun, and that of the last client


@pytest.mark.thorough
def test_a_login_that_waits_for_the_listener_is_not_late(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(User, "check_password", slowly(User.check_password, 1.5))
    with listener(login_timeout_s=1.0) as here:
        here.client().close()


@pytest.mark.thorough
def test_work_that_is_cancelled_before_it_begins_leaves_no_warning(
    transactional_db: None,
) -> None:
    async def work() -> None:
        raise AssertionError("it was cancelled")

    with listener() as here:
        here.client()
        (client,) = here.listener.clients
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            here.call(lambda: client.spawn(work()).cancel())
            here.call(gc.collect)

    assert [str(one.message) for one in told] == []


def slowly(
    really: Callable[[User, str], bool], seconds: float = 0.3
) -> Callable[[User, str], bool]:
    def check(user: User, password: str) -> bool:
        time.sleep(seconds)
        return really(user, password)

    return check
