"""Settings of the broker: which of several values counts, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from broker.config.django_settings import FOLLOWING, TYPES, complete, refuse_unknown


def completed(environment: dict[str, str] | None = None, **project: Any) -> Any:
    """The settings of a project that has these, and these environment variables."""
    settings = SimpleNamespace(**project)
    complete(settings, environment or {})
    refuse_unknown(settings)
    return settings


def test_a_project_that_says_nothing_has_each_setting() -> None:
    settings = completed()
    assert set(vars(settings)) == set(TYPES) >= set(FOLLOWING)
    assert settings.BROKER_NAME == "BACKOUT"
    assert settings.BROKER_AMQP_PORT == 5672
    assert not settings.BROKER_AMQP_PORT_IS_FIXED


def test_the_environment_counts_before_backout_and_that_before_a_plain_setting() -> (
    None
):
    settings = completed(
        {"BROKER_NAME": "A", "BROKER_SKIP_BACKOUT": "off", "VAR_DIR": "/elsewhere"},
        BACKOUT={"BROKER_NAME": "B", "BROKER_UNDO_WINDOW_S": 7},
        BROKER_NAME="C",
        BROKER_UNDO_WINDOW_S=8,
        BROKER_CANARY_PATIENCE_S=9,
    )
    assert settings.BROKER_NAME == "A"
    assert settings.BROKER_SKIP_BACKOUT is False
    assert settings.BROKER_UNDO_WINDOW_S == 7
    assert settings.BROKER_CANARY_PATIENCE_S == 9
    assert str(settings.VAR_DIR) == "."


def test_a_default_follows_the_setting_it_depends_on() -> None:
    settings = completed(
        {"BROKER_AMQP_PORT": "5672", "BACKOUT_SECRET_KEYS": "new, old"},
        BACKOUT={"BROKER_MAX_MESSAGE_BYTES": 5, "BROKER_AMQP_SCRAM": None},
        BROKER_TRANSACTION_TIMEOUT_S=60,
    )
    assert settings.BROKER_AMQP_MAX_PARTIAL_BYTES == 5 + 2**20
    assert settings.BROKER_AMQP_MAX_TRANSACTION_AGE_S == 60
    assert settings.BROKER_AMQP_PORT_IS_FIXED
    assert settings.BACKOUT_SECRET_KEYS == ["new", "old"]


@pytest.mark.parametrize(
    ("environment", "backout", "why"),
    [
        ({}, {"BROKER_NAM": "A"}, "no setting BROKER_NAM. Did you mean BROKER_NAME"),
        ({}, {"BROKER_UNDO_WINDOW_S": "7"}, "must be of type int. BACKOUT has '7'"),
        ({"BROKER_AMQP_PORT": "amqp"}, {}, "of type int. The environment has 'amqp'"),
    ],
)
def test_a_wrong_name_or_type_is_refused_in_a_sentence(
    environment: dict[str, str], backout: dict[str, Any], why: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=why):
        completed(environment, BACKOUT=backout)
