"""Why a task failed, as the pool of a worker tells it."""

from __future__ import annotations

from billiard.einfo import ExceptionInfo

from broker.client.celery_transport.failures import failure_of


def raised(error: Exception) -> ExceptionInfo:
    try:
        raise error
    except Exception:  # noqa: BLE001  # as a pool does
        return ExceptionInfo()


def test_the_error_is_that_of_the_task_and_not_what_carried_it() -> None:
    found = failure_of(raised(ValueError("row 7 is bad")), ())
    assert found
    assert found.error == "ValueError: row 7 is bad"
    assert found.exception == "builtins.ValueError"
    assert failure_of(raised(ValueError("row 7 is bad")), (ValueError,)) is None
