"""Acts on units of work: end one by force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from broker.acts.declaring import Holds, Reason, declared
from broker.models import Act
from broker.security import authorities
from broker.security.authorities import Principal
from broker.transactions import administration

FORCE = "broker.resubmit_message"
FORCED = "An operator backed out its unit of work: "


@dataclass(frozen=True, slots=True)
class BackOutUnitOfWork:
    """The unit of work, and why: it is told with each message."""

    uow: Annotated[int, Holds("Its number.", names="unit of work")]
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class UnitOfWorkBackedOut:
    """The unit of work that has ended."""

    id: int

    def __str__(self) -> str:
        return f"Unit of work {self.id} is backed out."


@declared(
    permission=FORCE,
    recorded_as=Act.BACK_OUT_UNIT,
    authorities={"uow": "set"},
    needs_reason=True,
    is_confirmed=True,
)
def back_out_unit_of_work(
    actor: Principal, request: BackOutUnitOfWork
) -> UnitOfWorkBackedOut:
    """Back out a unit of work by force.

    Its messages are backed out at once, and its holder gets ``lock-lost`` at commit.
    It is refused where its coordinator or its client ends it: ``not-forced``.
    """
    administration.force(
        request.uow,
        why=FORCED + request.reason.strip(),
        actor=authorities.name_of(actor) or "command line",
    )
    return UnitOfWorkBackedOut(request.uow)
