"""Rules tables for dead letters, in the language of IBM MQ's ``runmqdlq``.

    text ── parser ──▶ a Table: rules in order ── printer ──▶ text
                          │
      letters ── matching, first_match ──▶ the rule to apply ── runs ──▶ operations
                          └── previews ──▶ what each would match now

A table belongs to the queue of the dead letters, and is off, observed or active. The
first rule that matches applies; after as many attempts as its RETRY says, the next that
matches. Attempts are also counted over the copies of a letter that die again, so that
no message loops for ever.
"""

from __future__ import annotations

from broker.operations.rules.attempts import forget_gone
from broker.operations.rules.parser import read
from broker.operations.rules.previews import RulePreview, TablePreview, preview
from broker.operations.rules.printer import write
from broker.operations.rules.runs import BATCH, RuleResult, due, run
from broker.operations.rules.table import Action, Control, Rule, Table
from broker.operations.rules.tables import Mode, parsed, rules_of, save, switch

__all__ = [
    "BATCH",
    "Action",
    "Control",
    "Mode",
    "Rule",
    "RulePreview",
    "RuleResult",
    "Table",
    "TablePreview",
    "due",
    "forget_gone",
    "parsed",
    "preview",
    "read",
    "rules_of",
    "run",
    "save",
    "switch",
    "write",
]
