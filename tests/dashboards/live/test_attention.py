"""The badge: to group all dead letters takes long, so that it is done once for all."""

from __future__ import annotations

import threading

import pytest

from broker.models import DeadLetter
from broker.monitoring import dead_letter_groups, dead_letters
from dashboards.live import attention
from tests.broker.elsewhere import Background
from tests.console.graveyard import bury
from tests.console.until import until


@pytest.mark.usefixtures("transactional_db")
def test_who_asks_while_somebody_looks_waits_for_what_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []
    may_end = threading.Event()
    really_look = attention.look

    def look() -> attention.GroupsSnapshot:
        looks.append(1)
        assert may_end.wait(30)
        return really_look()

    monkeypatch.setattr(attention, "look", look)
    asking = [Background(attention.count) for _ in range(3)]
    until(lambda: looks)
    may_end.set()
    for one in asking:
        one.join()

    assert len(looks) == 1
    assert attention.count() == 0
    assert len(looks) == 1, "what was found is kept for a while"


@pytest.mark.usefixtures("transactional_db")
def test_what_is_kept_tells_of_each_group_how_it_grew() -> None:
    """The same as to ask for each of them, and of queues that one may see."""
    list(bury(600, 3))
    lie_on = set(DeadLetter.objects.values_list("queue_id", flat=True))

    seen = attention.newest()

    keys = [group.fingerprint for group in dead_letters.groups()]
    assert [group.fingerprint for group in seen.every] == keys
    assert seen.trends(lie_on) == dead_letter_groups.trends(keys, lie_on)
    assert sum(one.last_hour for one in seen.trends(lie_on).values()) == 600
    assert seen.trends([]) == {}
