"""Consumers that handle poison messages as IBM MQ's do, against a model of them.

Transacted sessions, marks that skip a backout, thresholds, report options, targets that
may be full, commits that fail, and processes that are killed, in any order; and a few
orders that chance alone would seldom find.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.broker.ibm_machine import TTL, IbmSteps
from tests.broker.ibm_model import WISHES, Sent, Session
from tests.broker.model import DELAY
from tests.examples import examples


class IbmMachine(IbmSteps):
    @rule()
    def fail_until_over_the_threshold(self) -> None:
        self.put(5, expires=False, wish=Sent())
        for _ in range(self.model.threshold + 1):
            session = self.opened()
            self.receive(session)
            self.roll_back(session)
            self.wait(DELAY)
        session = self.opened()
        self.receive(session)
        self.commit(session)

    @rule()
    def a_message_that_came_back_is_skipped(self) -> None:
        self.put(5, expires=False, wish=Sent())
        session = self.opened()
        self.get_marked(session)
        after = self.rolled_back(session)
        if after.open:
            self.roll_back(after)
        self.wait(DELAY)
        session = self.opened()
        self.get_marked(session)
        self.roll_back(session)

    @rule()
    def a_commit_fails_that_has_a_mark(self) -> None:
        self.put(5, expires=False, wish=Sent())
        session = self.opened()
        self.get_marked(session)
        for _ in range(3):  # more than there is room for
            self.put_an_answer(session)
        self.commit(session)

    @rule()
    def a_session_marks_twice(self) -> None:
        for _ in range(2):
            self.put(9, expires=False, wish=Sent())
        session = self.opened()
        for _ in range(2):
            self.get_marked(session)
        self.commit(session)

    @rule(wish=WISHES, told_apart=st.booleans())
    def a_sender_s_wishes_are_read(self, wish: Sent, *, told_apart: bool) -> None:
        """The backout queue is full, the dead letter queue is not."""
        if not self.model.threshold:
            return
        while self.model.has_room("BOQ"):
            self.poisoned_is_met(Sent(), self.receive)
        self.somebody_makes_room("DEAD")
        if told_apart:
            self.somebody_makes_room("reports")
        self.poisoned_is_met(wish, self.serve)
        self.poisoned_is_met(wish, self.receive)

    @rule()
    def a_dead_consumer_commits(self) -> None:
        session = self.begun()
        self.the_process_is_killed()
        self.commit(session)

    @rule()
    def a_late_consumer_commits(self) -> None:
        session = self.begun()
        self.consumers_hang()
        self.commit(session)

    @rule()
    def a_message_expires_unseen(self) -> None:
        self.put(5, expires=True, wish=Sent())
        self.wait(TTL)
        self.receive(self.opened())

    def poisoned_is_met(self, wish: Sent, met: Callable[[Session], None]) -> None:
        """A message fails as often as it may, and is then met by a consumer."""
        self.put(9, expires=False, wish=wish)
        for _ in range(self.model.threshold):
            session = self.opened()
            self.receive(session)
            self.rolled_back(session)
            self.wait(DELAY)
        session = self.opened()
        met(session)
        self.commit(session)

    def begun(self) -> Session:
        self.put(5, expires=False, wish=Sent())
        session = self.opened()
        self.receive(session)
        return session


@pytest.mark.thorough
@pytest.mark.django_db
@pytest.mark.spec("UOW-1", "UOW-2", "UOW-3", "POISON-3", "POISON-7", "POISON-8")
@pytest.mark.spec("ASF-4", "ASF-11", "ASF-13")
@pytest.mark.spec("POISON-9", "SKIP-3", "SKIP-4", "SKIP-5", "SKIP-6")
class TestIbmMachine(IbmMachine.TestCase):  # type: ignore[valid-type, misc]
    settings = settings(
        max_examples=examples(60), stateful_step_count=40, deadline=None
    )
