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

from broker.rules.attempts import forget_gone
from broker.rules.passes import BATCH, Deed, due, run
from broker.rules.previews import Preview, RulePreview, preview
from broker.rules.reading import read
from broker.rules.table import Action, Control, Rule, Table
from broker.rules.tables import Mode, parsed, rules_of, save, switch
from broker.rules.writing import write

__all__ = [
    "BATCH",
    "Action",
    "Control",
    "Deed",
    "Mode",
    "Preview",
    "Rule",
    "RulePreview",
    "Table",
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
