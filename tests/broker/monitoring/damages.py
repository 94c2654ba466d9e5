"""Damages of the hot tables: a name, a statement, and the rules of fsck it breaks."""

from __future__ import annotations

DAMAGES = [
    ("a lost entry", "DELETE FROM broker_ready", {"one-place", "depths-are-exact"}),
    (
        "an entry that came back although it ended",
        "INSERT INTO broker_ready (queue_id, priority, pos, id)"
        " SELECT queue_id, 4, ids[1], ids[1] FROM broker_event WHERE kind = 3",
        {"one-place", "depths-are-exact"},
    ),
    (
        "an entry in two places",
        "INSERT INTO broker_ready (queue_id, priority, pos, id)"
        " SELECT queue_id, 4, id, id FROM broker_delayed",
        {"one-place", "depths-are-exact"},
    ),
    (
        "a put that was journalled twice",
        "INSERT INTO broker_event (at, queue_id, n, kind, went_to, ids)"
        " SELECT at, queue_id, n, kind, went_to, ids FROM broker_event"
        " WHERE kind = 1 ORDER BY seq DESC LIMIT 1",
        {"one-place", "depths-are-exact"},
    ),
    (
        "an acceptance that the journal forgot",
        "DELETE FROM broker_event WHERE kind = 3",
        {"one-place", "depths-are-exact"},
    ),
    (
        "a move that the journal forgot",
        "DELETE FROM broker_event WHERE seq ="
        " (SELECT max(seq) FROM broker_event WHERE kind = 2)",
        {"depths-are-exact"},
    ),
    (
        "a tally that counts too many",
        "INSERT INTO broker_tally SELECT id, 1, 0, 1, 1 FROM broker_queue LIMIT 1",
        {"depths-are-exact"},
    ),
    (
        "an entry that was moved behind the journal's back",
        "WITH woken AS (DELETE FROM broker_delayed RETURNING *)"
        " INSERT INTO broker_ready (queue_id, priority, pos, id)"
        " SELECT queue_id, priority, id, id FROM woken",
        {"depths-are-exact"},
    ),
    (
        "an entry without its message",
        "DELETE FROM broker_message WHERE id = (SELECT max(id) FROM broker_delayed)",
        {"no-orphans"},
    ),
    (
        "an entry on a queue that does not exist",
        "DELETE FROM broker_queue WHERE name = 'orders'",
        {"no-orphans"},
    ),
    (
        "a claim without its unit of work",
        "DELETE FROM broker_unit_of_work",
        {"no-orphans"},
    ),
    (
        "an annotation without its message",
        "INSERT INTO broker_annotations VALUES (1000000, 1, '{}')",
        {"no-orphans"},
    ),
    (
        "an entry in the bin that is on its queue",
        "INSERT INTO broker_discarded SELECT id, queue_id, '', now(), now(), NULL, '',"
        " 4, 0, 0 FROM broker_delayed",
        {"bin-or-queue"},
    ),
    (
        "an entry in the bin that was accepted",
        "INSERT INTO broker_discarded SELECT ids[1], queue_id, '', now(), now(), NULL,"
        " '', 4, 0, 0 FROM broker_event WHERE kind = 3",
        {"bin-or-queue"},
    ),
    (
        "an entry in the bin of which nothing is left",
        "DELETE FROM broker_message WHERE id = (SELECT message_id FROM"
        " broker_discarded)",
        {"bin-or-queue"},
    ),
    (
        "a restored entry whose discard the journal forgot",
        "UPDATE broker_event SET kind = 5, went_to = 2 WHERE kind = 9",
        {"one-place", "depths-are-exact"},
    ),
    (
        "a copy that the journal names and nobody put",
        "UPDATE broker_event SET detail = detail || '{\"copies\": [9000000000]}'"
        " WHERE kind = 7",
        {"no-orphans"},
    ),
    (
        "a message whose priority is not 0 to 9",
        "UPDATE broker_message SET priority = 10",
        {"well-formed"},
    ),
    (
        "an entry that was backed out more often than it was delivered",
        "UPDATE broker_ready SET backout_count = delivery_count + 1",
        {"well-formed"},
    ),
    (
        "a claim that holds nothing",
        "INSERT INTO broker_claim SELECT uow, claim_id + 1, queue_id, claimed_at,"
        " '{}', '{}', '{}', '{}', '{}' FROM broker_claim",
        {"well-formed"},
    ),
    (
        "a claim whose arrays differ in length",
        "UPDATE broker_claim SET priorities = '{}'",
        {"well-formed"},
    ),
    (
        "a journal row that does not count its messages",
        "UPDATE broker_event SET n = 0, ids = '{}' WHERE kind = 9",
        {"one-place", "depths-are-exact", "well-formed"},
    ),
    (
        "a journal row without a place",
        "INSERT INTO broker_event (at, queue_id, n, kind, ids)"
        " SELECT at, queue_id, n, 2, ids FROM broker_event WHERE kind = 3",
        {"one-place", "well-formed"},
    ),
]
