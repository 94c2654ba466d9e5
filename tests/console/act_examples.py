"""Orders of all acts, for all doors."""

from __future__ import annotations

from tests.console import (
    acts_alerts,
    acts_bridges,
    acts_connections,
    acts_credentials,
    acts_discards,
    acts_groups,
    acts_operations,
    acts_queues,
    acts_recurring,
    acts_reports,
    acts_rules,
    acts_units_of_work,
)

EXAMPLES = {  # by act
    **acts_alerts.EXAMPLES,
    **acts_bridges.EXAMPLES,
    **acts_connections.EXAMPLES,
    **acts_credentials.EXAMPLES,
    **acts_discards.EXAMPLES,
    **acts_groups.EXAMPLES,
    **acts_operations.EXAMPLES,
    **acts_queues.EXAMPLES,
    **acts_recurring.EXAMPLES,
    **acts_reports.EXAMPLES,
    **acts_rules.EXAMPLES,
    **acts_units_of_work.EXAMPLES,
}
