"""Another storage, measured beside the broker's: messages are delivered from their own
table by a cursor for each lane, and have no rows in a table of ready entries.

What it keeps: consumers that compete get no message twice, and miss none whose
transaction commits late; priorities; what is backed out comes first, in its old order;
delays; fences; the journal; units of work and their owners. ``checks`` tries all of it.

What it leaves out: gets within the caller's transaction, which would hold the lock of
the queue; selective gets, moves, purges and changes of priority, which would need rows
of exceptions beside the cursor; journal rows of what expired; one body for all queues
that take a message; partitions of even size, as they go by transaction, and their
housekeeping.
"""
