"""Message selectors: which messages a consumer wants, in the language of JMS.

    text ── parsing ──▶ a condition ──▶ matching, in Python
                             └────────▶ jsonpath, in PostgreSQL
    message ── documents ──▶ the values that its names have

Both ways of deciding agree wherever both can; tests hold them to it.

Source: JMS 2.0, section 3.8. What it leaves open, or we do otherwise:

- Numbers are exact, as their digits say, and never overflow: ``0.1 + 0.2 = 0.3``. Two
  whole numbers divide as in Java, without the rest; other quotients are exact. Nothing
  comes of a division by zero: it is unknown.
- Arithmetic with what is no number, and a condition that is a name with a value other
  than true or false, are unknown.
- Lists and objects cannot be selected on: their names count as absent.
- ``JMSRedelivered`` and ``JMSExpiration`` can be selected on, too; other headers, such
  as ``JMSReplyTo``, are refused.
- ``_`` in a pattern stands for one character of Unicode.
"""

from __future__ import annotations

from broker.formats.selectors.documents import document
from broker.formats.selectors.parsing import Selector, parse

__all__ = ["Selector", "document", "parse"]
