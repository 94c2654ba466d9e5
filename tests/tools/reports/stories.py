"""A journal of millions of events, made by one statement for each day.

Messages come all day long to a thousand queues, half of them to twenty of these. Of a
hundred, 80 are accepted at once, 14 at the second attempt, 6 die of their second; a
third of the dead are sent back by an operator an hour later, and accepted. Ten of a
hundred are put, got and accepted together, each time by one event; all other events
have one message. Each event is a transaction of its own: the dearest way for an
archive. Of one message in ten thousand the journal has the accept before the get. Each
message says of itself what those of a shop would.

Transactions have numbers below zero, which no transaction of this server ever had.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from itertools import accumulate

from django.db import connection

from broker.models import Kind, Place, Queue
from broker.sql import partitions
from broker.sql.partitions import MESSAGES as SLICE
from tests.bench import ground
from tests.make import make_queue

QUEUES, BUSY = 1000, 20  # half of all messages come to the busy ones
GRAVEYARD = "bench.graveyard"
SHARES = {"done": 80, "again": 14, "back": 2, "dead": 4}  # of a hundred messages
A_DAY = 1_000_000  # events
MOST_DAYS = 400
SWAPPED = 50  # of ten thousand messages, the one whose get and accept are swapped
DAY = timedelta(days=1)
BATCH = 10  # messages of a hundred that come and go together
IDS = 3  # of one message: its own, its dead letter's, that of what was sent back

_R, _C, _D = (int(place) for place in (Place.READY, Place.CLAIMED, Place.DELAYED))
ATTEMPT = f"""
    ('{{story}}', {{n}} + 1, {{at}}, {Kind.GET.value}, {_R}, {_C}, {{id}}, false, ''),
    ('{{story}}', {{n}} + 2, {{at}} + 0.2, {Kind.ACCEPT.value}, {_C}, NULL, {{id}},
        false, '')
"""
BACK_OUT = f"""
    ('{{story}}', 1, 0, {Kind.PUT.value}, NULL, {_R}, 0, false, ''),
    ('{{story}}', 2, 1, {Kind.GET.value}, {_R}, {_C}, 0, false, ''),
    ('{{story}}', 3, 1.3, {Kind.BACK_OUT.value}, {_C}, {_D}, 0, false, 'failed'),
    ('{{story}}', 4, 61.3, {Kind.WAKE.value}, {_D}, {_R}, 0, false, '')
"""
DIE = f"""
    ('{{story}}', 5, 62, {Kind.GET.value}, {_R}, {_C}, 0, false, ''),
    ('{{story}}', 6, 62.4, {Kind.DEAD_LETTER.value}, {_C}, NULL, 0, false, 'died'),
    ('{{story}}', 7, 62.4, {Kind.PUT.value}, NULL, {_R}, 1, true, 'letter')
"""
SEND_BACK = f"""
    ('{{story}}', 8, 3600, {Kind.RESUBMIT.value}, {_R}, NULL, 1, true, 'sent'),
    ('{{story}}', 9, 3600, {Kind.PUT.value}, NULL, {_R}, 2, false, '')
"""
PUT = f"('{{story}}', 1, 0, {Kind.PUT.value}, NULL::int, {_R}, 0, false, '')"
STEPS = {
    "done": [PUT, ATTEMPT.format(story="{story}", n=1, at=1, id=0)],
    "again": [BACK_OUT, ATTEMPT.format(story="{story}", n=4, at=62, id=0)],
    "dead": [BACK_OUT, DIE],
    "back": [
        *(BACK_OUT, DIE, SEND_BACK),
        ATTEMPT.format(story="{story}", n=9, at=3601, id=2),
    ],
}
EVENTS_OF_100 = 3 + 70 * 3 + 14 * 6 + 4 * 7 + 2 * 11
WORDS = """(ARRAY['no such customer', 'the data base did not answer', 'disk full',
    'certificate has expired', 'amount is negative'])[1 + m.number / 7 % 5]"""
STORIES = """
SELECT number, {first_id} + number * {ids} AS id,
    1 + CASE WHEN number / 100 % 2 = 0
        THEN (number / 200 + number % 100 / 10 * 37) % {busy}
        ELSE (number / 100 + number % 100 / 10 * 37) % {queues} END AS nth_queue,
    CASE WHEN number % 100 < {batch} THEN number / 100 ELSE -number END AS batch,
    timestamptz '{day}' + number * interval '1 day' / {messages} AS at,
    CASE WHEN number % 100 < {done} THEN 'done'
        WHEN number % 100 < {again} THEN 'again'
        WHEN number % 100 < {back} THEN 'back' ELSE 'dead' END AS story,
    {words} || ' ' || number AS error
FROM generate_series(0, {messages} - 1) AS m (number)
"""
# The message that was put, its dead letter, and what was sent back of that.
MESSAGES = """
INSERT INTO broker_message
    (id, put_at, copied_from, priority, durable, address, content_type, producer,
    message_id, correlation_id, reply_to, subject, group_id, properties, body)
SELECT m.id + c.of, m.at + c.after * interval '1 second',
    CASE WHEN c.of > 0 THEN m.id + c.of - 1 END,
    CASE WHEN number % 10 = 0 THEN 7 ELSE 4 END, number % 50 > 0,
    CASE WHEN c.of = 1 THEN '{address}' ELSE 'bench.orders' END,
    'application/json', 'shop-' || number % 8,
    'ID:' || md5(number::text)::uuid, CASE WHEN number % 3 = 0 THEN 'c' || number END,
    CASE WHEN number % 5 = 0 THEN 'bench.answers' END,
    (ARRAY['order', 'payment', 'parcel', 'return'])[1 + number % 4],
    CASE WHEN number % 4 = 0 THEN 'customer-' || number % 5000 END,
    jsonb_build_object('tenant', 't' || number % 100, 'customer', number % 5000,
        'amount', round(number % 99991 / 100.0, 2), 'express', number % 7 = 0,
        'trace', md5((number + 1)::text)::uuid, 'country',
        (ARRAY['DE', 'AT', 'CH', 'FR', 'NL'])[1 + number % 5])
        || CASE WHEN c.of = 1 THEN jsonb_build_object('_AMQ_ORIG_QUEUE', 'bench.orders',
            '_AMQ_ORIG_MESSAGE_ID', m.id) ELSE '{{}}' END,
    convert_to('{{"order": ' || number || ', "lines": 3}}', 'UTF8')
FROM ({stories}) AS m
JOIN (VALUES (0, 0, '{{done,again,back,dead}}'::text[]), (1, 62.4, '{{back,dead}}'),
    (2, 3600, '{{back}}')) AS c (of, after, stories) ON m.story = ANY (c.stories)
ORDER BY 1
"""
UNLIMITED = "SET statement_timeout = 0"
OF_ITS_OWN = "{xid} + row_number() OVER (ORDER BY max(at), batch, nth)"
INSERT = """
INSERT INTO broker_event
    (xid, at, kind, queue_id, came_from, went_to, uow, actor, n, ids, detail)
SELECT {xid}, max(at), kind, queue_id, came_from, went_to,
    CASE WHEN kind IN (2, 3, 4, 7) THEN min(id) END,
    CASE WHEN kind IN (2, 3, 4, 7) THEN 'clerk-' || queue_id % 7 ELSE '' END, count(*),
    array_agg(id ORDER BY id), detail
FROM (
    SELECT m.batch, s.nth, s.kind, m.at + interval '1 second' * CASE
            WHEN m.number % 10000 <> {swapped} OR s.nth = 1 THEN s.after
            WHEN s.nth = 2 THEN 1.001 ELSE 1 END AS at,
        CASE WHEN s.on_graveyard THEN {graveyard} ELSE q.ids[m.nth_queue] END
            AS queue_id,
        s.came_from, s.went_to, m.id + s.of AS id,
        CASE s.told
            WHEN 'failed' THEN jsonb_build_object('error', m.error, 'due_at',
                jsonb_build_array(m.at + interval '61.3 seconds'))
            WHEN 'died' THEN jsonb_build_object('error', m.error, 'cause',
                'MAX_DELIVERY_ATTEMPTS', 'copies', jsonb_build_array(m.id + 1))
            WHEN 'letter' THEN jsonb_build_object('error', m.error, 'cause',
                'MAX_DELIVERY_ATTEMPTS')
            WHEN 'sent' THEN jsonb_build_object('operation', 1, 'copies',
                jsonb_build_array(m.id + 2))
        END AS detail
    FROM ({stories}) AS m
    JOIN (VALUES {steps})
        AS s (story, nth, after, kind, came_from, went_to, of, on_graveyard, told)
        USING (story)
    CROSS JOIN (SELECT ARRAY[{queue_ids}] AS ids) AS q
) AS told
GROUP BY batch, nth, kind, queue_id, came_from, went_to, detail
ORDER BY max(at), batch, nth
"""


def begin() -> None:
    for n in range(QUEUES):
        make_queue(f"bench.{n:03}")
    make_queue(GRAVEYARD)


def first_id_of(back: int) -> int:
    """The first id of a day's messages; days are counted back from yesterday, 0."""
    return (MOST_DAYS - back) * A_DAY * IDS


def write(count: int) -> None:
    """Add some days to the journal, up to yesterday."""
    today = datetime.combine(datetime.now(UTC).date(), time(), UTC)
    named = Queue.objects.filter(name__startswith="bench.").order_by("name")
    queues = {queue.name: queue.pk for queue in named}
    steps = [step.format(story=story) for story in STEPS for step in STEPS[story]]
    known = {
        "messages": A_DAY * 100 // EVENTS_OF_100,
        "ids": IDS,
        "queues": QUEUES,
        "busy": BUSY,
        "batch": BATCH,
        "swapped": SWAPPED,
        "graveyard": queues.pop(GRAVEYARD),
        "queue_ids": ", ".join(map(str, queues.values())),
        "steps": ", ".join(step.strip() for step in steps),
        "address": GRAVEYARD,
        "words": WORDS,
        **dict(zip(SHARES, accumulate(SHARES.values()), strict=True)),
    }
    days = [(back, today - (back + 1) * DAY) for back in range(count)]
    for back, day in days:
        for one in (day, day + DAY):  # the last messages end on the next day
            partitions.make("broker_event", f"p{one:%Y%m%d}", "at", one, one + DAY)
        first_id = first_id_of(back)
        for n in range(first_id // SLICE, (first_id + A_DAY * IDS) // SLICE + 1):
            partitions.make("broker_message", f"p{n}", "id", n * SLICE, (n + 1) * SLICE)

    def write_day(back: int, day: datetime) -> None:
        stories = STORIES.format(
            day=day.isoformat(), first_id=first_id_of(back), **known
        )
        xid = OF_ITS_OWN.format(xid=-(back + 1) * A_DAY)
        with closing(connection):  # this thread's
            ground.fetch(UNLIMITED)
            ground.fetch(MESSAGES.format(stories=stories, **known))
            ground.fetch(INSERT.format(stories=stories, xid=xid, **known))

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(write_day, *zip(*days, strict=True)))
    ground.fetch(UNLIMITED)
    ground.fetch("VACUUM (ANALYZE) broker_event, broker_message")
    ground.fetch("CHECKPOINT")  # or the server writes while its pace is measured
