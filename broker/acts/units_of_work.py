"""Acts on units of work: end one by force, or in place of its coordinator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, Reason, declared, name_in_journal
from broker.acts.objects import find_prepared
from broker.errors.units_of_work import NoSuchUnitOfWork
from broker.models import Act, UnitOfWork
from broker.security import authorities
from broker.security.authorities import Principal
from broker.transactions import administration
from broker.transactions.prepared import back_out_prepared, commit_prepared

FORCE = "broker.resubmit_message"
FORCED = "An operator backed out its unit of work: "
BACKED_OUT = "An operator backed out its prepared unit of work: "

Prepared = Annotated[
    int, Holds(gettext_noop("Its number."), names="prepared unit of work")
]


@dataclass(frozen=True, slots=True)
class BackOutUnitOfWork:
    """The unit of work, and why: it is told with each message."""

    uow: Annotated[int, Holds(gettext_noop("Its number."), names="unit of work")]
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
        actor=name_in_journal(actor),
    )
    return UnitOfWorkBackedOut(request.uow)


@dataclass(frozen=True, slots=True)
class CommitPreparedUnit:
    """The unit of work, and why: where the coordinator's decision was seen."""

    uow: Prepared
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class BackOutPreparedUnit:
    """The unit of work, and why: where the coordinator's decision was seen."""

    uow: Prepared
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class PreparedUnitEnded:
    """The unit of work that has ended, its xid, and how it ended."""

    uow: int
    xid: str
    committed: bool

    def __str__(self) -> str:
        word = "committed" if self.committed else "backed out"
        return f"Unit of work {self.uow} is {word}."


@declared(
    permission=FORCE,
    recorded_as=Act.COMMIT_PREPARED,
    authorities={"uow": "set"},
    needs_reason=True,
    is_confirmed=True,
)
def commit_prepared_unit(
    actor: Principal, request: CommitPreparedUnit
) -> PreparedUnitEnded:
    """Commit a prepared unit of work in place of its coordinator.

    Commit only if the coordinator committed the other parts of the transaction. Its
    messages are accepted, and its puts are sent. This cannot be undone.
    """
    xid = locked_xid(actor, request.uow)
    why, name = request.reason.strip(), name_in_journal(actor)
    commit_prepared(xid, actor=name, reason=why)
    return PreparedUnitEnded(request.uow, xid, committed=True)


@declared(
    permission=FORCE,
    recorded_as=Act.BACK_OUT_PREPARED,
    authorities={"uow": "set"},
    needs_reason=True,
    is_confirmed=True,
)
def back_out_prepared_unit(
    actor: Principal, request: BackOutPreparedUnit
) -> PreparedUnitEnded:
    """Back out a prepared unit of work in place of its coordinator.

    Back out only if the coordinator rolled the other parts of the transaction back, or
    never decided. Its messages are backed out and counted, and its puts are never sent.
    This cannot be undone.
    """
    xid = locked_xid(actor, request.uow)
    why, name = request.reason.strip(), name_in_journal(actor)
    back_out_prepared(xid, error=BACKED_OUT + why, actor=name, reason=why)
    return PreparedUnitEnded(request.uow, xid, committed=False)


def locked_xid(actor: Principal, uow: int) -> str:
    """The xid of a prepared unit of work, which nobody else ends now.

    Raises:
        NoSuchUnitOfWork: it has ended meanwhile.
    """
    xid = find_prepared(authorities.held_by(actor), uow).work.xid
    unit = UnitOfWork.objects.select_for_update().filter(pk=uow, xid=xid)
    if unit.first() is None:
        raise NoSuchUnitOfWork(uow)
    return xid
