"""What is wrong with a queue is one rule, for alerts, Overview and the queue's page."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as runs
from hypothesis import strategies as st

from broker.alerts.evaluation import evaluate
from broker.models import Alert, AlertRule, Queue, Stoppage
from broker.monitoring.history import sampling
from broker.problems.problem import Name
from broker.problems.readings import Readings
from broker.queueing import journal
from broker.queueing.put import put_many
from broker.security import authorities
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from console.home import needs
from dashboards.live import depths
from tests.make import (
    NOON,
    make_messages,
    make_queue,
    make_setting,
    minutes,
    seconds,
)


@dataclass(frozen=True)
class Drawn:
    """A queue in any state."""

    messages: int
    age_s: int
    is_paused: bool
    is_stopped: bool
    is_dead: bool
    claimed: int
    taken_s: int | None  # so many seconds ago one was given back

    def make(self, name: str) -> None:
        if self.is_dead:
            make_setting(f"of.{name}", dead_letter_address=name)
        queue = make_queue(name)
        put_many(make_messages(self.messages, name), now=NOON - seconds(self.age_s))
        if self.messages and self.claimed:
            UnitOfWork(now=NOON).get(name, self.claimed)
        if self.is_stopped:
            Stoppage.objects.create(queue=queue, message_id=1, reason=2085, why="no")
        Queue.objects.filter(name=name).update(
            paused=self.is_paused, stopped=self.is_stopped
        )

    def take(self, name: str) -> None:
        work = UnitOfWork(now=NOON)
        if work.get(name):
            work.back_out(BackOut("no", at_once=True))


QUEUES = st.lists(
    st.builds(
        Drawn,
        messages=st.integers(0, 3),
        age_s=st.sampled_from([0, 59, 60, 600]),
        is_paused=st.booleans(),
        is_stopped=st.booleans(),
        is_dead=st.booleans(),
        claimed=st.integers(0, 1),
        taken_s=st.sampled_from([None, 30, 90]),
    ),
    max_size=5,
)
OF_QUEUES = (Name.STOPPED, Name.NOT_CONSUMED, Name.PAUSED, Name.DEAD_LETTERS)


@pytest.mark.thorough
@given(drawn=QUEUES)
@runs(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@pytest.mark.django_db
def test_alerts_and_overview_cannot_disagree_about_a_queue(drawn: list[Drawn]) -> None:
    cache.clear()
    with transaction.atomic():
        AlertRule.objects.all().delete()
        for condition in OF_QUEUES:
            AlertRule.objects.create(name=condition, condition=condition)
        by_name = {f"q{number}": one for number, one in enumerate(drawn)}
        for name, one in by_name.items():
            one.make(name)
        for taken_s in (90, 30):
            sampling.sample(NOON - seconds(taken_s + 10))
            for name, one in by_name.items():
                if one.taken_s == taken_s:
                    one.take(name)
            sampling.sample(NOON - seconds(taken_s))
        evaluate(now=NOON)
        every = Alert.objects.values_list("condition", "subject", "value")
        told_of = {one for one in every if one[1] in by_name}
        user = User(username="ada", is_superuser=True)
        seen = Readings(NOON)
        queues = depths.queues(now=NOON, seen=seen)
        page = needs.overview(queues, authorities.EVERYTHING, user, seen=seen)
        shown = {
            (one.condition, one.subject, one.value)
            for row in page.causes.rows
            for one in row.problems
            if one.condition in OF_QUEUES and one.subject in by_name
        }
        named = [row.cause.name for row in page.causes.rows]
        transaction.set_rollback(True)

    assert told_of == shown
    assert len(set(named)) == len(named)  # a row for each
    untaken = {name for condition, name, _ in shown if condition == Name.NOT_CONSUMED}
    assert {one.name for one in queues if one.is_untaken} == untaken
    assert untaken == {
        name
        for name, one in by_name.items()
        if one.messages > 0 and one.age_s >= 60 and one.taken_s != 30
        if not (one.is_paused or one.is_stopped or one.is_dead or one.claimed)
    }


@pytest.mark.usefixtures("transactional_db")
def test_a_queue_from_which_one_is_accepted_within_a_minute_is_consumed() -> None:
    make_queue()
    put_many(make_messages(2), now=NOON - minutes(9))
    sampling.sample(NOON - seconds(40))
    work = UnitOfWork(now=NOON - seconds(35))
    work.get("orders")
    work.commit()
    journal.fold()
    sampling.sample(NOON - seconds(30))

    found = [depths.queues(now=NOON + seconds(after))[0] for after in (0, 29, 30)]

    assert [one.is_untaken for one in found] == [False, False, True]
