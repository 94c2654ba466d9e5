"""Orders of all acts, for all doors."""

from __future__ import annotations

from tests.console import acts_alerts, acts_groups, acts_queues, acts_rules

EXAMPLES = {  # by act
    **acts_alerts.EXAMPLES,
    **acts_groups.EXAMPLES,
    **acts_queues.EXAMPLES,
    **acts_rules.EXAMPLES,
}
