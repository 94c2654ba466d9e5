"""Orders of all acts, for all doors."""

from __future__ import annotations

from tests.console import acts_messages
from tests.console.accounts import acts_credentials
from tests.console.alerts import acts_alerts
from tests.console.bridges import acts_bridges
from tests.console.consumers import acts_connections, acts_units_of_work
from tests.console.dead_letters import acts_discards, acts_groups, acts_rules
from tests.console.messages import acts_recurring, acts_saved_views
from tests.console.operations import acts_operations
from tests.console.queues import acts_queues
from tests.console.reports import acts_reports

EXAMPLES = {  # by act
    **acts_alerts.EXAMPLES,
    **acts_bridges.EXAMPLES,
    **acts_connections.EXAMPLES,
    **acts_credentials.EXAMPLES,
    **acts_discards.EXAMPLES,
    **acts_groups.EXAMPLES,
    **acts_messages.EXAMPLES,
    **acts_operations.EXAMPLES,
    **acts_queues.EXAMPLES,
    **acts_recurring.EXAMPLES,
    **acts_reports.EXAMPLES,
    **acts_rules.EXAMPLES,
    **acts_saved_views.EXAMPLES,
    **acts_units_of_work.EXAMPLES,
}
