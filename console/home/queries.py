"""What is wrong now, for REST and commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from broker.problems.problem import ProblemState
from broker.security import authorities
from broker.security.authorities import Principal
from console.consumers.queries.units_of_work import PreparedUnit, list_prepared_units
from console.edges.queries import All, build_answer, declared_query
from console.layout import settings_problems
from dashboards.live import problems

VIEW = "broker.view_queue"


@dataclass(frozen=True, slots=True)
class Problems:
    """What is wrong now, on queues and links that the caller may inquire."""

    empty: ClassVar = "Nothing is wrong now."

    problems: list[ProblemState]


@declared_query(VIEW)
def list_problems(actor: Principal, request: All) -> Problems:
    """What is wrong now by all conditions, the most urgent first."""
    found = problems.visible(actor, authorities.held_by(actor))
    return Problems([one.state for one in found])


@dataclass(frozen=True, slots=True)
class Finding:
    """A configuration problem."""

    code: str  # stable, and safe to match on
    queue: str  # the queue, the pattern of an address setting, or the group of users
    sentence: str
    remedy: str  # the recommended action


@dataclass(frozen=True, slots=True)
class Health:
    """All findings on queues that the caller may inquire."""

    empty: ClassVar = "There is no problem of configuration, and no prepared unit."

    findings: list[Finding]
    prepared: list[PreparedUnit]


@declared_query(VIEW)
def read_health(actor: Principal, request: All) -> Health:
    """Problems of configuration, and prepared units of work that wait for a decision.

    Liveness and readiness are under ``/healthz`` and ``/readyz``, without
    authentication.
    """
    findings = settings_problems.all_for(actor, authorities.held_by(actor))
    return Health(
        [build_answer(Finding, one) for one in findings],
        list_prepared_units(actor, All()).prepared,
    )
