"""Step 4: what a transformer gives back, and what comes of its failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from broker.bridges.batch import Batch
from broker.bridges.carrier import Carrier
from broker.bridges.messages import changed
from broker.bridges.providers.interface import Destination, Received
from broker.bridges.transfer import transformed
from broker.bridges.transformers.registry import (
    TRANSFORMERS,
    BranchTo,
    Context,
    NoTransfer,
    transforms,
)
from broker.errors.bridges import TransformerFailed, WrongLink
from broker.models import Link
from broker.queueing.put import put
from broker.queueing.store import NewMessage
from tests.broker.bridges.linking import (
    carry,
    dead,
    make_link,
    make_queues,
    status,
    taken,
    turn,
)
from tests.make import NOON

REASON = "JMS_SUN_JMSBRIDGE_DMQ_REASON"
BY_RELEASE = Link.TransformFailure.TRANSFER


@pytest.fixture(autouse=True)
def _choosy(transactional_db: None) -> Iterator[None]:
    """A transformer that does what the body says, and two queues."""
    make_queues("orders", "booked", "elsewhere")
    TRANSFORMERS.pop("choosy", None)

    @transforms("choosy")
    def choosy(message: NewMessage, context: Context) -> Any:
        match message.body:
            case b"change":
                more = {**message.properties, **context.properties}
                return changed(message, body=b"changed", properties=more)
            case b"refuse":
                return NoTransfer()
            case b"branch":
                return BranchTo(Destination("elsewhere"), message)
            case b"nothing":
                return None
            case b"raise":
                raise ValueError("no such customer")
        return message

    yield
    del TRANSFORMERS["choosy"]


def bodies(queue: str) -> list[bytes]:
    return [one.body for one in taken(queue)]


def reasons() -> list[str]:
    return [one.properties[REASON] for one in dead()]


def put_all(*names: bytes) -> None:
    for body in names:
        put("orders", body)


@pytest.mark.spec("BRIDGE-5")
def test_a_transformer_is_given_the_message_and_the_properties_of_the_target() -> None:
    put_all(b"change")
    link = make_link(transformer="choosy", properties={"key": "x"}, loop_guard=False)
    carry(link)
    (one,) = taken("booked")
    assert (one.body, one.properties) == (b"changed", {"key": "x"})
    assert status(link).transformed == 1


@pytest.mark.spec("BRIDGE-5")
@pytest.mark.parametrize("failure", [b"raise", b"nothing"])
@pytest.mark.parametrize("transacted", [True, False])
def test_by_4_4_a_copy_is_dead_and_the_untransformed_goes_on(
    failure: bytes, *, transacted: bool
) -> None:
    put_all(b"one", failure, b"two")
    link = make_link(
        transformer="choosy", transform_failure=BY_RELEASE, transacted=transacted
    )
    assert carry(link) == 3
    assert bodies("booked") == [b"one", failure, b"two"]
    assert reasons() == ["TRANSFORMER_FAILURE"]
    assert bodies("orders") == []


@pytest.mark.spec("BRIDGE-5")
@pytest.mark.parametrize("failure", [b"raise", b"nothing"])
@pytest.mark.parametrize("transacted", [True, False])
def test_by_4_4u1_it_is_dead_and_consumed_where_that_is_set(
    failure: bytes, *, transacted: bool
) -> None:
    put_all(b"one", failure, b"two")
    link = make_link(
        transformer="choosy", consume_on_transform_error=True, transacted=transacted
    )
    assert carry(link) == 3
    assert bodies("booked") == [b"one", b"two"]
    assert reasons() == ["TRANSFORMER_FAILURE"]
    assert bodies("orders") == []


@pytest.mark.spec("BRIDGE-5")
@pytest.mark.parametrize("failure", [b"raise", b"nothing"])
@pytest.mark.parametrize("transacted", [True, False])
def test_by_4_4u1_the_link_stops_and_the_message_is_first_at_its_source(
    failure: bytes, *, transacted: bool
) -> None:
    put_all(b"one", failure, b"two")
    link = make_link(transformer="choosy", transacted=transacted)
    with turn(link) as one, pytest.raises(TransformerFailed):
        one.carry()
    assert bodies("booked") == [b"one"]
    assert reasons() == []
    left = taken("orders")
    assert [(one.body, one.backout_count) for one in left] == [
        (failure, 0),
        (b"two", 0),
    ]


@pytest.mark.spec("BRIDGE-6")
def test_the_first_that_is_not_to_be_transferred_is_told_on_the_dead_queue() -> None:
    put_all(b"refuse", b"refuse", b"one")
    link = make_link(transformer="choosy")
    carry(link)
    assert bodies("booked") == [b"one"]
    assert reasons() == ["FIRST_TRANSFORMER_NOTRANSFER"]
    assert status(link).not_transferred == 2


@pytest.mark.spec("BRIDGE-6")
def test_the_first_that_branches_is_told_on_the_dead_queue() -> None:
    put_all(b"branch", b"one", b"branch")
    link = make_link(transformer="choosy")
    carry(link)
    assert bodies("booked") == [b"one"]
    assert bodies("elsewhere") == [b"branch", b"branch"]
    assert reasons() == ["FIRST_TRANSFORMER_BRANCHTO"]
    assert status(link).branched == 2


@pytest.mark.spec("BRIDGE-6")
def test_as_source_is_the_destination_that_a_message_came_from() -> None:
    link = make_link(target=None)
    topic = Destination("news", is_topic=True)
    one = Received(NewMessage("news"), None, topic)
    batch = Batch([one], NOON)

    sending = transformed(Carrier(link, 1), batch, one, one.message)

    assert sending is not None
    assert sending.destination == topic


def test_a_link_whose_transformer_is_missing_does_not_start() -> None:
    put_all(b"one")
    with (
        pytest.raises(WrongLink, match="no message transformer"),
        turn(make_link(transformer="missing")),
    ):
        raise AssertionError("it started")
    assert bodies("orders") == [b"one"]
