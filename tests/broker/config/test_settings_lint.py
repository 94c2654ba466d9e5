"""Address settings that are allowed and hardly meant."""

from __future__ import annotations

import pytest

from broker.config.advice import Advice
from broker.config.lint import of_setting
from broker.models import AddressSetting


def said(**fields: int | None) -> list[Advice]:
    return list(of_setting(AddressSetting(match="orders.#", **fields)))


@pytest.mark.spec("DLA-1")
@pytest.mark.parametrize(
    ("attempts", "is_warned"), [(0, 1), (-1, 0), (1, 0), (None, 0)]
)
def test_zero_attempts_mean_no_limit_and_are_warned_about(
    attempts: int | None, is_warned: int
) -> None:
    found = said(max_delivery_attempts=attempts)

    assert [one.code for one in found] == ["attempts-of-zero"] * is_warned
    assert all("no limit" in one.sentence and "-1" in one.remedy for one in found)


@pytest.mark.spec("REDEL-2")
@pytest.mark.parametrize(
    ("delay", "cap", "is_warned"),
    [(5000, 100, 1), (100, 100, 0), (100, None, 0), (None, 100, 0)],
)
def test_a_delay_that_its_cap_cuts_short_is_warned_about(
    delay: int | None, cap: int | None, is_warned: int
) -> None:
    found = said(redelivery_delay_ms=delay, max_redelivery_delay_ms=cap)

    assert [one.code for one in found] == ["delay-above-its-cap"] * is_warned


@pytest.mark.parametrize(
    ("shortest", "longest", "is_warned"),
    [(9, 5, 1), (5, 5, 0), (9, -1, 0), (-1, 5, 0), (9, None, 0)],
)
def test_expiry_delays_that_contradict_are_warned_about(
    shortest: int, longest: int | None, is_warned: int
) -> None:
    found = said(min_expiry_delay_ms=shortest, max_expiry_delay_ms=longest)

    assert [one.code for one in found] == ["expiry-delays-crossed"] * is_warned
