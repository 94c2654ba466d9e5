"""Orders for units of work, for all doors."""

from __future__ import annotations

from broker.acts.units_of_work import BackOutUnitOfWork
from broker.models import UnitOfWork
from tests.console.act_doors import Example
from tests.console.api_work_acts import held

EXAMPLES = {
    "back_out_unit_of_work": Example(
        BackOutUnitOfWork,
        "console:back_out_unit",
        about=("uow",),
        make=lambda: {"uow": held()},
        absent={"uow": 7},
        missing="has ended, or there is none that you may see",
        changes=(UnitOfWork,),
        gone=302,  # the list tells it
        typed=("uow",),
    ),
}
