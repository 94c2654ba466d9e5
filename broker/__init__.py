"""A message broker that keeps its messages in PostgreSQL.

An **address** is a name that producers send to; it feeds **queues**. A **message** on a
queue is an **entry**. Consumers **get** entries in **units of work**, which end in one
of two ways: all entries are **accepted** and leave, or all are **backed out**, counted,
and come back: at once, after a delay, or, when their attempts are used up, as a copy on
the **dead letter address**.

The packages, from the top down; each imports only those below it:

============================ =========================================================
``management``, ``tasks``    commands, and what Celery calls
``housekeeping``             what is done on time, by Celery or by a dispatcher
``admin``, ``checks``        the Django admin, and the system checks
``acts``                     what a person may order, declared for all doors
``alerts``                   rules that find problems, and notifications of people
``problems``                 what is wrong now: one table of conditions
``bridges``                  links that carry messages to and from other brokers
``amqp``                     AMQP 1.0 for clients
``client``                   the API for programs: sessions, handlers, the dispatcher
``operations``               what an operator orders for many messages
``declarations``             queues as code: what is to be, compared and applied
``monitoring``               read-only views: where a message is and why, search
``transactions``             units of work: leased, joined, prepared
``settlement``               how a delivery ends: accepted, backed out, dead-lettered
``queueing``                 entries on queues: put, route, get, browse; the journal
``config``                   address settings, names, automatic creation
``security``                 authorities, credentials, the audit, masking
``models``                   the tables
``formats``                  pure values and text: IBM MQ headers, selectors, filters
``errors``, ``sql``          one class for each refusal; statements
============================ =========================================================

The path of one message, in the order to read it:

1. ``queueing.put`` stores it and an entry on each queue that its address feeds, in the
   caller's transaction.
2. ``queueing.notifications`` wakes a consumer; ``queueing.get`` moves the entry into a
   claim.
3. ``transactions.unit_of_work`` holds what was got and will be put, until it ends.
4. ``settlement.settle`` accepts it,
5. or backs it out: ``settlement.redelivery_policy`` decides by
   ``config.address_settings`` what becomes of each entry.
6. ``queueing.delayed``, ``settlement.settle`` and ``settlement.expiry`` have the
   housekeeping that Celery calls.
7. ``operations`` are what a person does about dead letters.

Every step writes its row of the journal in the same transaction. The broker knows no
page, no socket and no report.
"""

__version__ = "0.1.0"
