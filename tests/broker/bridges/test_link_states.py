"""What each command does to a link in each state, against a model of the manual."""

from __future__ import annotations

import pytest
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from broker.bridges.commands import command
from broker.bridges.states import Command
from broker.errors.bridges import CommandRefused
from broker.models import AuditRecord, Link, LinkState, LinkStatus
from tests.broker.bridges.making import stored_link

NEVER = "UNINITIALIZED"
GOALS = {"start": "STARTED", "pause": "PAUSED", "resume": "STARTED", "stop": "STOPPED"}
ON_THE_WAY = {"STARTED": "STARTING", "PAUSED": "PAUSING", "STOPPED": "STOPPING"}


def manual(order: str, state: str, *, enabled: bool) -> str:
    """What the manual says of an order: refused, nothing, or the state it leads to.

    Source:
        Open MQ, Administration Guide, "Bridge Manager Subcommands for Link Management".
    """
    goal = GOALS[order]
    if order == "start" and not enabled:
        return "refused"
    if order != "start" and state == NEVER:
        return "refused"
    if order in ("pause", "resume") and state in ("STOPPED", "STOPPING"):
        return "refused"
    return "nothing" if state in (goal, ON_THE_WAY[goal]) else goal


class LinkMachine(RuleBasedStateMachine):
    """People order, the process of the link arrives; in any order."""

    @initialize(state=st.sampled_from(LinkState.values), enabled=st.booleans())
    def a_link_is_there(self, state: str, enabled: bool) -> None:
        self.rollback = transaction.atomic()
        self.rollback.__enter__()
        self.link = stored_link(enabled=enabled)
        LinkStatus.objects.create(link=self.link, state=state)
        self.state, self.goal, self.enabled = state, "", enabled
        self.orders = 0

    def teardown(self) -> None:
        if hasattr(self, "rollback"):
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)

    @rule(order=st.sampled_from(list(Command)))
    def somebody_orders(self, order: Command) -> None:
        expected = manual(order.value, self.state, enabled=self.enabled)

        if expected == "refused":
            with pytest.raises(CommandRefused) as refusal:
                command(self.fresh(), order)
            assert str(refusal.value).endswith("first.")
        else:
            assert command(self.fresh(), order) == (expected != "nothing")

        if expected not in ("refused", "nothing"):
            self.goal = expected
            self.state = ON_THE_WAY[expected]
            self.orders += 1
        self.agree()

    @rule()
    def its_process_arrives(self) -> None:
        """Wherever it was ordered to go last."""
        if self.goal:
            LinkStatus.objects.filter(link=self.link).update(state=self.goal)
            self.state = self.goal
        self.agree()

    @rule()
    def somebody_enables_or_disables_it(self) -> None:
        self.enabled = not self.enabled
        Link.objects.filter(pk=self.link.pk).update(enabled=self.enabled)

    def fresh(self) -> Link:
        return Link.objects.select_related("bridge").get(pk=self.link.pk)

    def agree(self) -> None:
        """State, order and audit are what the model has."""
        status = LinkStatus.objects.get(link=self.link)
        assert (status.state, status.wanted) == (self.state, self.goal)
        assert (
            AuditRecord.objects.filter(act__startswith="link.").count() == self.orders
        )


@pytest.mark.spec("BRIDGE-18")
@pytest.mark.django_db
class TestLinkStates(LinkMachine.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=30, stateful_step_count=12, deadline=None)


@pytest.mark.spec("BRIDGE-18")
@pytest.mark.django_db
@pytest.mark.parametrize("state", LinkState.values)
@pytest.mark.parametrize("order", list(Command))
@pytest.mark.parametrize("enabled", [True, False])
def test_each_order_in_each_state(state: str, order: Command, enabled: bool) -> None:
    one = stored_link(enabled=enabled)
    LinkStatus.objects.create(link=one, state=state)
    expected = manual(order.value, state, enabled=enabled)

    if expected == "refused":
        with pytest.raises(CommandRefused):
            command(one, order)
    else:
        assert command(one, order) == (expected != "nothing")
    if expected in ("refused", "nothing"):
        assert LinkStatus.objects.get().state == state
        assert not AuditRecord.objects.exists()
