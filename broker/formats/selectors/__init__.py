"""Message selectors of JMS.

    text ── parsing ──▶ a condition ──▶ matching, in Python
                             └────────▶ jsonpath, in PostgreSQL
    message ── documents ──▶ the values of its names

Both implementations give the same result where both apply; tests check this.

Source: JMS 2.0, section 3.8. Choices and differences:

- Numbers are exact decimals and never overflow: ``0.1 + 0.2 = 0.3``; a literal may be
  larger than a long, since values are. Two whole numbers
  divide as in Java, without remainder; other quotients are exact. Division by zero is
  unknown.
- Arithmetic with a value that is not a number is unknown. So is a name as a condition,
  if its value is neither true nor false.
- Lists and objects cannot be selected on: their names count as absent.
- ``JMSRedelivered`` and ``JMSExpiration`` can also be selected on; other headers, such
  as ``JMSReplyTo``, are refused.
- A name may stand in double quotes, as in ActiveMQ and Artemis: ``"content-type"``;
  Artemis's prefix ``hyphenated_props:`` and its names of headers are known, too.
- ``_`` in a pattern matches one Unicode character.
"""

from __future__ import annotations

from broker.formats.selectors.documents import document
from broker.formats.selectors.parsing import Selector, parse

__all__ = ["Selector", "document", "parse"]
