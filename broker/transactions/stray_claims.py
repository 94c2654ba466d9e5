"""Stray claims: what gets have claimed whose answers were lost.

Each get of a group has a claim id of its own, drawn here. If its answer is lost, nobody
works on what it has claimed; this id finds it, and it is released, without counting a
backout. What cannot be released is backed out at its deadline, at the latest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import NamedTuple

from django.db import DataError
from django.db import Error as DatabaseError

from broker.errors import BrokerError
from broker.models import Claim, UnitOfWork
from broker.queueing import processes
from broker.settlement import settle
from broker.settlement.outcomes import Release

# The server may still run a statement whose connection is lost; so what it claims is
# looked for during this time.
LOOK_S = 3.0
MOST = 2**31  # number of negative claim ids
numbers = count()


class ClaimedBy(NamedTuple):
    """A get, as its claims name it."""

    owner: int
    claim_id: int  # negative; a further get of the unit of work has another one


class StrayClaims:
    """The gets of one thread whose answers were lost.

    Args:
        actor: name that the journal records.
    """

    def __init__(self, actor: str) -> None:
        self.actor = actor
        # Until when each is looked for.
        self.lost: dict[ClaimedBy, float] = {}

    @contextmanager
    def watched(self) -> Iterator[ClaimedBy]:
        """Give a get its claim id; an error in the block loses its answer."""
        by = ClaimedBy(processes.current(), -1 - next(numbers) % MOST)
        try:
            yield by
        except DataError:  # the statement was refused; nothing is claimed
            raise
        except BaseException:
            self.lost[by] = time.monotonic() + LOOK_S
            raise

    def give_back(self) -> None:
        """Release what was claimed, as far as the database answers."""
        now_s = time.monotonic()
        with suppress(BrokerError, DatabaseError):
            for by, until_s in list(self.lost.items()):
                self.release(by)
                if now_s >= until_s:
                    del self.lost[by]

    def release(self, by: ClaimedBy) -> None:
        units = UnitOfWork.objects.filter(owner_id=by.owner).values("pk")
        stray = Claim.objects.filter(uow__in=units, claim_id=by.claim_id)
        for uow in stray.values_list("uow", flat=True):
            settle.end_if_held(uow, Release(), actor=self.actor)
