"""A message broker that keeps its messages in PostgreSQL.

An **address** is a name that producers send to; it feeds **queues**. A **message** on a
queue is an **entry**. Consumers **get** entries in **units of work**, which end in one
of two ways: all entries are **accepted** and leave, or all are **backed out**, counted,
and come back: at once, after a delay, or, when their attempts are used up, as a copy on
the **dead letter address**.

The path of one message, in the order to read it:

1. ``put.put`` stores it and an entry on each queue that its address feeds, in the
   caller's transaction.
2. ``arrivals.wait`` wakes a consumer; ``get.get`` moves the entry into a claim.
3. ``unit_of_work`` holds what was got and will be put, until it ends.
4. ``settle.accept`` ends it well.
5. ``settle.back_out`` ends it badly: ``redelivery.dispose`` decides by
   ``addresses.settings_for`` what becomes of each entry.
6. ``delays.wake_due``, ``settle.back_out_overdue`` and ``expiry.expire`` are the
   housekeeping that Celery calls.
7. ``operations`` are what a person does about dead letters.

Every step writes its row of the journal in the same transaction. The broker knows no
page, no socket and no report.
"""
