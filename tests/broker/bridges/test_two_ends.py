"""Transacted links to another Backout: prepared there, decided here, recovered."""

from __future__ import annotations

from typing import Any

import pytest

from broker.bridges import deciding
from broker.bridges.decisions import Decisions
from broker.bridges.providers.backout.calls import Calls
from broker.bridges.providers.backout.session import BackoutSession
from broker.errors.bridges import ProviderLost
from broker.models import AuditRecord, Branch, Link, LinkStatus
from broker.models.bridge_names import BUILT_IN_QUEUE
from broker.queueing.put import put
from broker.settlement import discards
from tests.broker.bridges.linking import (
    carry,
    dead,
    make_bridge,
    make_factory,
    make_link,
    make_queues,
    taken,
    turn,
)
from tests.broker.bridges.other_backout import OtherBackout
from tests.broker.bridges.running import until_sent
from tests.broker.bridges.test_runner import running
from tests.broker.dying import on
from tests.console.until import until
from tests.make import make_queue

REASON = "JMS_SUN_JMSBRIDGE_DMQ_REASON"
CURRENT = "JMS_SUN_JMSBRIDGE_TARGET_CURRENT_DESTINATION"
LOST = ProviderLost("other", "the wire was cut")


@pytest.fixture
def link(transactional_db: None, other: OtherBackout) -> Link:
    """From a queue here to one there."""
    make_queues("orders")
    with other.instead():
        make_queue("booked")
    bridge = make_bridge()
    there = make_factory(
        bridge, "other", "backout", url=other.url, password=other.secret
    )
    return make_link(target_factory=there, bridge=bridge)


def there(other: OtherBackout) -> list[bytes]:
    """The bodies on the target's queue."""
    found: list[Any] = other.sql(
        "SELECT body FROM broker_ready JOIN broker_message USING (id) ORDER BY pos"
    )
    return [bytes(body) for (body,) in found]


def breaks(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Have the wire cut before a call is heard."""

    def cut(*_: object, **__: object) -> None:
        raise LOST

    monkeypatch.setattr(owner, name, cut)


@pytest.mark.spec("BRIDGE-21")
def test_messages_go_over_by_prepare_and_commit(
    link: Link, other: OtherBackout
) -> None:
    for body in (b"one", b"two"):
        put("orders", body)
    assert carry(link) == 2
    assert there(other) == [b"one", b"two"]
    assert taken("orders") == []
    assert not Branch.objects.exists()
    assert other.sql("SELECT 1 FROM broker_unit_of_work WHERE xid IS NOT NULL") == []


@pytest.mark.spec("BRIDGE-21")
def test_what_was_decided_and_not_told_is_committed_at_the_next_start(
    link: Link, other: OtherBackout, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("orders", b"one")
    with turn(link) as one, monkeypatch.context() as context:
        breaks(context, BackoutSession, "commit_prepared")
        assert one.carry() == 1
        with pytest.raises(ProviderLost):
            one.carry(wait_s=1)
    assert there(other) == []
    assert taken("orders") == []
    assert Branch.objects.get().kind == Branch.Kind.DECIDED

    assert carry(link) == 0

    assert there(other) == [b"one"]
    assert not Branch.objects.exists()


@pytest.mark.spec("BRIDGE-21")
def test_a_commit_goes_with_the_next_batch(
    link: Link, other: OtherBackout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request for each batch; its row is that of the batch before, replaced."""
    asked: list[str] = []
    ask = Calls.ask

    def listen(self: Calls, method: str, path: str, *rest: Any) -> bytes:
        asked.append(path.partition("?")[0])
        return ask(self, method, path, *rest)

    with turn(link) as one:
        monkeypatch.setattr(Calls, "ask", listen)
        for number in range(3):
            put("orders", b"%d" % number)
            assert one.carry() == 1
            assert there(other) == [b"%d" % n for n in range(number)]
            assert Branch.objects.count() == 1
        assert asked == ["branches/prepare"] * 3
        assert one.carry(wait_s=1) == 0
        assert asked[3:] == [asked[3]]
        assert asked[3].endswith("/commit")
        assert not Branch.objects.exists()
    assert there(other) == [b"0", b"1", b"2"]


@pytest.mark.thorough
@pytest.mark.spec("BRIDGE-21")
def test_the_end_of_a_link_commits_its_last_batch(
    link: Link, other: OtherBackout
) -> None:
    put("orders", b"one")
    with turn(link) as one:
        assert one.carry() == 1
        assert there(other) == []
    assert there(other) == [b"one"]
    assert not Branch.objects.exists()


@pytest.mark.spec("BRIDGE-21")
def test_what_was_prepared_and_not_decided_is_rolled_back_at_the_next_start(
    link: Link, other: OtherBackout, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("orders", b"one")
    with turn(link) as one, monkeypatch.context() as context:
        breaks(context, Decisions, "decide")
        breaks(context, BackoutSession, "roll_back_prepared")
        with pytest.raises(ProviderLost):
            one.carry()
    prepared = "SELECT count(*) FROM broker_unit_of_work WHERE xid IS NOT NULL"
    assert other.sql(prepared) == [(1,)]
    assert there(other) == []

    assert carry(link) == 1

    assert other.sql(prepared) == [(0,)]
    assert there(other) == [b"one"]


@pytest.mark.spec("BRIDGE-13")
def test_a_commit_that_failed_is_told_on_the_dead_message_queue(
    link: Link,
    other: OtherBackout,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    put("orders", b"one", message_id="ID:1")
    with turn(link) as one, monkeypatch.context() as context:
        breaks(context, BackoutSession, "commit_prepared")
        assert one.carry() == 1
        with pytest.raises(ProviderLost):
            one.carry(wait_s=1)
    (notice,) = dead()
    assert notice.properties[REASON] == "COMMIT_FAILURE"
    assert "sent again" in notice.properties["JMS_SUN_JMSBRIDGE_DMQ_EXCEPTION"]
    assert notice.client_message_id == "ID:1"
    assert f"{link}: ID:1: COMMIT_FAILURE: It has not confirmed" in caplog.text


@pytest.mark.spec("BRIDGE-13")
def test_a_notice_ends_when_its_transaction_is_settled(
    link: Link, other: OtherBackout, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("orders", b"one")
    with turn(link) as one, monkeypatch.context() as context:
        breaks(context, BackoutSession, "commit_prepared")
        assert one.carry() == 1
        with pytest.raises(ProviderLost):
            one.carry(wait_s=1)
    assert on(BUILT_IN_QUEUE)

    assert carry(link) == 0

    assert there(other) == [b"one"]
    assert not on(BUILT_IN_QUEUE)
    (binned,) = discards.discarded()
    assert "settled" in binned.why


@pytest.mark.spec("BRIDGE-21")
@pytest.mark.parametrize(("commit", "arrives"), [(True, [b"one"]), (False, [])])
def test_an_administrator_ends_what_is_in_doubt(
    link: Link,
    other: OtherBackout,
    monkeypatch: pytest.MonkeyPatch,
    *,
    commit: bool,
    arrives: list[bytes],
) -> None:
    put("orders", b"one")
    with turn(link) as one, monkeypatch.context() as context:
        breaks(context, BackoutSession, "commit_prepared")
        assert one.carry() == 1
        with pytest.raises(ProviderLost):
            one.carry(wait_s=1)
    xid = Branch.objects.get().xid

    deciding.decide(xid, commit=commit, reason="it will not run again")

    assert there(other) == arrives
    assert not Branch.objects.exists()
    record = AuditRecord.objects.get(act="link.decide")
    assert record.reason == "it will not run again"
    assert record.details["decision"] == ("commit" if commit else "roll back")


@pytest.mark.spec("BRIDGE-11")
def test_an_acknowledgement_that_failed_is_told_on_the_dead_message_queue(
    transactional_db: None,
    other: OtherBackout,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Without transactions the target has it already, and may get it again."""
    make_queues("booked")
    with other.instead():
        make_queue("orders")
        put("orders", b"one", message_id="ID:1")
    bridge = make_bridge()
    source = make_factory(
        bridge, "other", "backout", url=other.url, password=other.secret
    )
    link = make_link(source_factory=source, bridge=bridge, transacted=False)
    with turn(link) as one, monkeypatch.context() as context:
        breaks(context, one.ends.main, "acknowledge")
        with pytest.raises(ProviderLost):
            one.carry(wait_s=5)

    (notice,) = dead()
    assert notice.properties[REASON] == "ACK_FAILURE"
    assert f"{link}: ID:1: ACK_FAILURE: the wire was cut" in caplog.text
    assert notice.properties[CURRENT] == "queue:booked"
    assert [found.body for found in taken("booked")] == [b"one"]


@pytest.mark.spec("BRIDGE-17")
def test_a_connection_that_need_not_stay_is_closed_when_idle_and_made_again(
    link: Link, other: OtherBackout
) -> None:
    link.stay_connected = False
    link.save()
    link.target_factory.idle_timeout_s = 1
    link.target_factory.save()
    LinkStatus.objects.filter(link=link).update(wanted="", state="UNINITIALIZED")
    put("orders", b"one")
    with running() as bridge:
        until_sent(link, 1)
        (runner,) = bridge.runners.values()
        until(lambda: runner.is_resting)
        put("orders", b"two")
        until_sent(link, 2)
    assert there(other) == [b"one", b"two"]
