"""The text of docs/benchmarks.md, around its tables."""

from __future__ import annotations

PROSE = """# Benchmarks

Written by `make bench ARGS=--write`; do not edit. Judge by the ratios: rates belong to the
machine below, and to what else ran on it. *Ratio* is by time, *processor* by the processor time
of client and server together: above 1 is the advantage of the work at the beginning of the line.

```
{table}
```

```
{figures}
```

{machine}

{charts}

## Where the time goes

```
{costs}
```

The same slices, by message: how long it took a client; what the processor worked for it in
the client and in the server; the rest, which is waiting for the disk, for the processor and for
each other; and the bytes that PostgreSQL wrote ahead. Of PostgreSQL count the connections that
the work uses, of RabbitMQ all threads of its process, which work beside each other. What Redis
and other processes of PostgreSQL do is not in it.

The floor writes one row to one table. A put writes the message, an entry for each queue and a
row of the journal for each statement, with an index each; a get deletes the entry and writes a
claim, a unit of work and a row of the journal; to accept deletes those and writes another row.

## The last two runs

{runs}

## What was measured

Bodies of 512 bytes, {clients}, durable commits, everything on: journal, expiry,
partitions, hints on Redis. What is compared ran in the same minute, in slices of {seconds} s
in random order, {rounds} rounds after one to warm up. A ratio is the median of those of the
rounds; beside it, the lowest and the highest. After each comparison, what was sent less what
was received had to be what is ready, and the consistency check had to find nothing.

- **floor**: one `INSERT` of the same bytes, in the same batches, into a table without an
  index; committed, and no more.
- **put**: `put_many`. **get, accept**: a `unit_of_work` with one `get`, which takes a batch
  and commits. **put, get, accept**: one after the other. **put, consumer loop**: the same in
  loops of 20 units of work, begun and left.
- **{several} clients**: at once, each a process, one message at a time, on one queue;
  on RabbitMQ each has its own queue, as its consumers hold what others would wait for.
- **procrastinate**: its SQL functions, called from prepared statements; no worker and no
  event loop stand between. It takes one at a time, so it is compared one by one.
- **back out 3 times, dead letter**: units of work that raise; a message is counted once, when it
  has become a dead letter. In batches of 1 it is a handler that raises for each message.
- **RabbitMQ**: durable queues, publisher confirms awaited for each batch, manual acknowledgement
  of each batch, by py-amqp. Failures are negative acknowledgements, twice to come again and then
  to the queue of dead letters; the client counts, and none is answered. Its dead letters come
  back as a shovel brings them: taken, published, confirmed, acknowledged.
- **beside delayed**: a queue with {delayed:,} delayed messages against a queue without, and
  against as many tasks of tomorrow in procrastinate.
- **under a held snapshot**, **under an open transaction with an id**: while another connection
  kept a snapshot, or a transaction that had written, open, after
  {held_singly:,} messages came and went one by one and {held:,} in batches of 1000, against
  the beginning; both taken as ratios to the floor beside them, ten rounds each, and
  those after to the median of those before.

- **AMQP**: durable messages of 1 KiB through a process that listens, from one client that puts
  and one that gets, each a process of its own, with as many messages under way as the batches of
  **the API** have that is called in its place; against RabbitMQ's plug-in with the same clients.
  One under way is one at a time. **The engine** is the protocol alone, frames, codec, sessions
  and AMQP links, on the server's side: it is driven in the bench's own process with what these
  clients send. The target of {engine_us} µs is about it. **The listener's loop** is the thread in
  which the engine lives: sockets, TLS, rights and the translation of messages are in it, too. It
  has no target of its own; the database has other threads.
- **dead letters**: {letters:,} of one queue, planned, looked at, sent back and taken back by
  one worker alone; then sent back and taken back while a live consumer sends, takes and accepts
  one message after the other. RabbitMQ brings them back alone, too.
- **a herd**: {herd:,} messages due in one second, beside {delayed:,} due tomorrow; one process
  releases as the worker does, one consumer gets, another works on a queue of its own. Early
  and late by the journal, against the times that were due.
- **backed out {times} times**: {again:,} messages in batches of 100, with the worker's vacuum on
  each beat; sizes before are those after each message was delivered once.
- **pages**: of 50 messages, at random positions, by the cursor that the console uses.
- **hot tables**: of entries, claims and units of work with their indexes; not the bodies.

- **PGMQ**: its SQL functions, installed from the file that `BENCH_PGMQ` names, by prepared
  statements; without it, it is not measured. A message that is deleted when it is done leaves no
  history; one that is archived is kept, as here. Its failures are written as its users write
  them: read, make visible again, and after three deliveries send to another queue and delete, in
  one transaction.
"""
