"""What the broker refuses has a condition of AMQP."""

from __future__ import annotations

import pytest

from broker import errors
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.refusals import CONDITIONS, refusal
from broker.errors import BrokerError, NoSuchQueue, messages, queues, units_of_work
from broker.errors.queues import QueueFull

NEVER = {  # nothing that a client of AMQP does can raise them
    *("InvalidBatch", "QueueNotEmpty"),
    *("NotResubmittable", "OperationNotPlanned", "UnsafeServer"),
    *("CauseRemains", "PauseEndPassed", "WrongOptions", "NotCoordinated"),
    *("WrongXid", "XidInUse", "NoSuchXid", "NotForced", "NoMessageUnderCursor"),
    *("InvalidFilter", "SearchTooLong", "PoolerHasLocks"),
    *("TransactionLeftOpen", "NoSuchUnitOfWork", "NoSuchConnection"),
    "NoSuchMessage",
    *("NoSuchCredential", "NoSuchRecurringMessage"),
}


def every() -> list[type[BrokerError]]:
    modules = (errors, messages, queues, units_of_work)
    found = {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, BrokerError)
    }
    return sorted(found - {BrokerError}, key=lambda one: one.__name__)


@pytest.mark.parametrize("kind", every())
def test_each_error_has_a_condition_or_cannot_be(kind: type[BrokerError]) -> None:
    known = any(base in CONDITIONS for base in kind.__mro__)

    assert known != (kind.__name__ in NEVER)


def test_a_refusal_says_what_and_why() -> None:
    told = refusal(QueueFull("orders", 3))

    assert told.condition == "amqp:resource-limit-exceeded"
    assert told.description == str(QueueFull("orders", 3))
    assert told.info == {"code": "queue-full", "reason": 2053}


def test_a_mistake_of_ours_is_not_explained_to_clients() -> None:
    told = refusal(KeyError("secret"))

    assert told.condition == "amqp:internal-error"
    assert "secret" not in told.description


def test_a_long_name_does_not_come_back_whole() -> None:
    assert len(refusal(NoSuchQueue("x" * 100_000)).description) == 1000


def test_what_is_amqp_already_stays_so() -> None:
    error = AmqpError("amqp:not-found", "It is not there.")

    assert refusal(error) is error
