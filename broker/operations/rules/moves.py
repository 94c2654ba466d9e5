"""The moves that rules for dead letters make, for warnings on circles
(``broker.config.moves``).

Only what a rule forwards to a queue by its name: a retry is meant to come back, and
ends after as many attempts as the rule says.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.config.transfers import Transfer, TransferEnd, Way
from broker.models import RuleTable
from broker.operations.rules.table import Action
from broker.operations.rules.tables import parsed


def stored() -> Iterator[Transfer]:
    """The moves of all tables that are active. One query."""
    active = RuleTable.objects.filter(mode=RuleTable.Mode.ACTIVE)
    for row in active.select_related("queue"):
        for rule in parsed(row).rules:
            named = rule.forward_queue.rstrip()
            if rule.action is Action.FWD and not named.startswith("&"):
                yield Transfer(
                    TransferEnd(row.queue.name), TransferEnd(named), Way.RULE
                )
