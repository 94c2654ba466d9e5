"""Standing rules for dead letters, in the language of IBM MQ's ``runmqdlq``.

    text ── reading ──▶ a Table: rules in order ── writing ──▶ text
                          │
      letters ── matching, deciding ──▶ which rule holds ── passes ──▶ operations
                          └── previews ──▶ what each would match now

A table belongs to the queue on which the letters lie, and is off, observed or active.
The first rule that matches holds; when it was tried as often as its RETRY says, the
next that matches. Attempts are counted through all lives of a letter, so that none is
sent round for ever.
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
