"""What clients were told can be true, or it is named why not."""

from __future__ import annotations

from broker.amqp.protocol.performatives import Accepted, Modified, Released
from tests.amqp.ledger import Ledger


def test_what_was_confirmed_and_is_nowhere_is_lost() -> None:
    ledger = Ledger()
    lost, there, ended = (ledger.send() for _ in range(3))
    for body in (lost, there, ended):
        ledger.outcome(body, Accepted())
    ledger.hand_out(ended)

    assert ledger.audit([there], [there, ended]) == [f"{lost!r} is lost"]


def test_what_nobody_sent_is_a_phantom() -> None:
    ledger = Ledger()
    ledger.hand_out(b"never sent")

    assert ledger.audit([], []) == ["b'never sent' is a phantom"]


def test_what_was_released_must_not_be_there_and_what_is_in_doubt_may() -> None:
    ledger = Ledger()
    released, in_doubt, silent = (ledger.send() for _ in range(3))
    ledger.outcome(released, Released())
    ledger.outcome(in_doubt, Modified(delivery_failed=True))

    wrong = ledger.audit([], [released, in_doubt, silent])

    assert wrong == [f"{released!r} was refused, and is there"]


def test_what_was_stored_twice_is_named() -> None:
    ledger = Ledger()
    body = ledger.send()

    assert ledger.audit([], [body, body]) == [
        f"{body!r} was sent once and stored twice"
    ]


def test_nothing_comes_again_after_its_accept_was_confirmed() -> None:
    ledger = Ledger()
    body = ledger.send()
    ledger.hand_out(body)
    ledger.confirm(body)

    assert ledger.audit([body], [body]) == [f"{body!r} was accepted, and is there"]
    ledger.hand_out(body)
    ledger.confirm(body)
    assert ledger.audit([], [body]) == [
        f"{body!r} comes again, and its accept was confirmed",
        f"{body!r} was accepted twice, and both were confirmed",
    ]


def test_an_accept_in_doubt_may_be_repeated_and_is_counted() -> None:
    ledger = Ledger()
    body = ledger.send()
    ledger.outcome(body, Accepted())
    for _ in range(2):
        ledger.hand_out(body)
    ledger.confirm(body)

    assert ledger.audit([], [body]) == []
    assert ledger.duplicates == 1
