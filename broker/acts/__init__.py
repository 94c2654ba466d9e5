"""Acts: what a person or a program may order, each declared once for all doors.

``act(actor, request)`` is the only way to carry one out. It checks the permission,
the limits of fields, whether the actor may see what the request names, and the
authorities on queues; it carries the act out, and the act writes its audit record,
all in one transaction. Pages, the REST interface and the command line read the
declarations: fields, texts and rules stand here alone.

========================= ==========================================================
``declaring``             what a declaration says; the list ``ACTS``
``checking``              ``act`` and ``may``: the checks, in their order
``refusals``              a refused attempt in the audit
``objects``               what a field names: found, or missing as it is hidden
``visible_queues``        the same of queues
``alerts``                acknowledge and silence alerts, test a target
``connections``           close connections of clients, and endpoints
``credentials``           create and revoke credentials of applications
``discards``              restore discarded messages
``groups``                describe, acknowledge, snooze groups of dead letters
``messages``              send an edited copy of a message
``recurring``             put recurring messages now
``rules``                 save and switch rules for dead letters
``queues``                pause and resume queues, counters, delivery
``bridges``               orders to links, and their transactions in doubt
``units_of_work``         end an open unit of work by force
``operations``            plans of operations, and the operations that run
========================= ==========================================================

Rules, schedules and housekeeping call what acts call: what they may do was checked when
a person enabled them.
"""

from __future__ import annotations

from broker.acts.checking import act, may, require
from broker.acts.declaring import ACTS, ActField, DeclaredAct

__all__ = ["ACTS", "ActField", "DeclaredAct", "act", "may", "require"]
