"""Orders for units of work, for all doors."""

from __future__ import annotations

from broker.acts.units_of_work import (
    BackOutPreparedUnit,
    BackOutUnitOfWork,
    CommitPreparedUnit,
)
from broker.models import UnitOfWork
from tests.console.act_doors import Example
from tests.console.acts import prepared
from tests.console.consumers.api_work_acts import held

MISSING = "has ended, or there is none that you may see"


def on_a_prepared_unit(request: type, page: str) -> Example:
    return Example(
        request,
        page,
        about=("uow",),
        make=lambda: {"uow": prepared()},
        absent={"uow": 7},
        missing=MISSING,
        changes=(UnitOfWork,),
        gone=302,  # Health tells it
    )


EXAMPLES = {
    "back_out_unit_of_work": Example(
        BackOutUnitOfWork,
        "console:back_out_unit",
        about=("uow",),
        make=lambda: {"uow": held()},
        absent={"uow": 7},
        missing=MISSING,
        changes=(UnitOfWork,),
        gone=302,  # the list tells it
        typed=("uow",),
    ),
    "commit_prepared_unit": on_a_prepared_unit(
        CommitPreparedUnit, "console:commit_prepared"
    ),
    "back_out_prepared_unit": on_a_prepared_unit(
        BackOutPreparedUnit, "console:back_out_prepared"
    ),
}
