"""What becomes of an entry, by the outcome that its client gave."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.types.types import Symbol, Timestamp
from broker.amqp.senders.outcomes import (
    FAILED,
    FREE_RELEASES,
    LONGEST,
    MOST_RELEASES,
    NO_OUTCOME,
    NOT_HERE,
    REJECTED,
    RELEASED_TOO_OFTEN,
    ROLLED_BACK,
    UNDELIVERABLE,
    Circumstances,
    Verdict,
    bare,
    decide,
)
from broker.settlement.outcomes import Accept, BackOut, Reject, Release
from tests.make import NOON

NOON_MS = int(NOON.timestamp() * 1000)


def verdict(
    state: p.DeliveryState | None, *, is_settled: bool = True, **about: Any
) -> Verdict | None:
    return decide(state, Circumstances(NOON, **about), is_settled=is_settled)


def modified(
    *,
    failed: bool | None = None,
    undeliverable: bool | None = None,
    **annotations: Any,
) -> p.Modified:
    named = {
        Symbol(f"x-opt-{name.replace('_', '-')}"): value
        for name, value in annotations.items()
    }
    return p.Modified(failed, undeliverable, named or None)


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (p.Accepted(), Verdict(Accept())),
        (p.Rejected(), Verdict(Reject(REJECTED))),
        (p.Released(), Verdict(Release())),
        (modified(), Verdict(Release())),
        (modified(failed=False), Verdict(Release())),
        (modified(failed=True), Verdict(BackOut(FAILED))),
        (modified(undeliverable=True), Verdict(Release(why=NOT_HERE), hides=True)),
        (
            modified(failed=True, undeliverable=True),
            Verdict(BackOut(UNDELIVERABLE), hides=True),
        ),
        (None, Verdict(BackOut(NO_OUTCOME))),
        (p.Received(0, 0), Verdict(BackOut(NO_OUTCOME))),
    ],
)
def test_each_outcome_has_its_meaning(
    state: p.DeliveryState | None, outcome: Verdict
) -> None:
    assert verdict(state) == outcome


@pytest.mark.parametrize("state", [None, p.Received(1, 100), p.Declared(b"1")])
def test_a_delivery_without_an_outcome_goes_on(state: p.DeliveryState | None) -> None:
    assert verdict(state, is_settled=False) is None


@pytest.mark.parametrize("state", [None, p.Received(0, 0)])
def test_a_client_that_settles_without_an_outcome_means_its_default(
    state: p.DeliveryState | None,
) -> None:
    assert verdict(state, default=p.Released()) == Verdict(Release())
    assert verdict(state, default=p.Accepted()) == Verdict(Accept())
    assert verdict(p.Rejected(), default=p.Accepted()) == Verdict(Reject(REJECTED))


def test_a_rejection_keeps_what_the_client_said() -> None:
    error = p.Error(
        Symbol("com.microsoft:dead-letter"),
        None,
        {
            Symbol("DeadLetterReason"): "no such customer",
            Symbol("DeadLetterErrorDescription"): "17",
            Symbol("StackTrace"): 3,
        },
    )
    assert verdict(p.Rejected(error)) == Verdict(
        Reject(
            "com.microsoft:dead-letter; DeadLetterReason: no such customer;"
            " DeadLetterErrorDescription: 17"
        )
    )


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (p.Rejected(), REJECTED),
        (modified(failed=True, undeliverable=True), UNDELIVERABLE),
    ],
)
def test_a_dead_letter_that_is_refused_stays_and_is_not_offered_again(
    state: p.DeliveryState, why: str
) -> None:
    stays = Verdict(Release(why=why), hides=True)
    assert verdict(state, is_dead_letter=True) == stays


def test_a_dead_letter_that_has_expired_goes_by_the_expiry_rule() -> None:
    state = modified(failed=True, undeliverable=True)
    refused = verdict(state, is_dead_letter=True, is_expired=True)
    assert refused == Verdict(Reject(UNDELIVERABLE))


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize(
    "annotations",
    [
        {"delivery_time": Timestamp(NOON_MS + 90_000)},
        {"delivery_delay": 90_000},
        {"delivery_time": NOON_MS + 90_000, "delivery_delay": 5},
    ],
)
def test_a_consumer_chooses_when_it_comes_again(
    annotations: dict[str, Any], failed: bool
) -> None:
    found = verdict(modified(failed=failed, **annotations))

    wait = timedelta(seconds=90)
    counted, released = BackOut(FAILED, delay=wait), Release(wait)
    assert found == Verdict(counted if failed else released)


def test_a_time_that_is_over_is_no_delay() -> None:
    found = verdict(modified(failed=True, delivery_time=NOON_MS - 1))
    assert found == Verdict(BackOut(FAILED, delay=timedelta(0)))


@given(
    st.sampled_from(["x-opt-delivery-time", "x-opt-delivery-delay"]),
    st.integers(-(2**63), 2**64)
    | st.booleans()
    | st.text()
    | st.floats()
    | st.none()
    | st.binary(),
)
def test_whatever_a_client_writes_there_is_a_delay_or_nothing(
    name: str, value: object
) -> None:
    found = verdict(
        p.Modified(delivery_failed=True, message_annotations={Symbol(name): value})
    )

    assert found is not None
    assert isinstance(found.outcome, BackOut)
    delay = found.outcome.delay
    assert delay is None or timedelta(0) <= delay <= LONGEST


def test_what_is_released_again_and_again_comes_later_each_time() -> None:
    found = [verdict(p.Released(), releases=n) for n in range(MOST_RELEASES)]

    outcomes = [one.outcome for one in found if one is not None]
    free, slow = outcomes[:FREE_RELEASES], outcomes[FREE_RELEASES:]
    assert free == [Release()] * FREE_RELEASES
    waits = [one.delay for one in slow if isinstance(one, Release)]
    assert [wait // timedelta(milliseconds=1) for wait in waits if wait] == [
        *(100, 200, 400, 800, 1600, 3200, 6400)
    ]


def test_what_is_released_too_often_counts_in_the_end() -> None:
    for releases in (MOST_RELEASES, MOST_RELEASES + 1, 1000):
        for state in (p.Released(), modified()):
            counted = Verdict(BackOut(RELEASED_TOO_OFTEN))
            assert verdict(state, releases=releases) == counted


def test_a_dead_letter_that_is_released_too_often_is_not_counted() -> None:
    found = verdict(p.Released(), releases=1000, is_dead_letter=True)
    assert found == Verdict(Release(timedelta(seconds=12.8)))


def test_what_stayed_after_a_rollback_counts_when_it_is_released() -> None:
    assert verdict(p.Released(), was_rolled_back=True) == Verdict(BackOut(ROLLED_BACK))
    assert verdict(p.Accepted(), was_rolled_back=True) == Verdict(Accept())
    assert verdict(modified(failed=True), was_rolled_back=True) == Verdict(
        BackOut(FAILED)
    )


def test_we_repeat_outcomes_without_their_reasons() -> None:
    error = p.Error("amqp:internal-error", "why", {Symbol("a"): 1})
    assert bare(p.Rejected(error)) == p.Rejected()
    assert bare(modified(failed=True, delivery_delay=1)) == p.Modified(
        delivery_failed=True
    )
    assert bare(p.Released()) == p.Released()
    assert bare(p.TransactionalState(b"1", p.Accepted())) == p.Accepted()
    assert bare(None) == p.Modified(delivery_failed=True)
