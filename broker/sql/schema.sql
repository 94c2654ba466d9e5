-- The schema that Django's models do not create: the hot tables with their indexes, and
-- the functions and triggers of the audit and of a flush.
--
-- It runs where tests leave the migrations out (broker.management.migrate), and a test
-- compares it with a migrated database. A change of it needs a migration.

-- The hot tables: messages, the states of entries, and the journal.
--
-- Messages and the journal are partitioned, and old partitions are dropped. A default
-- partition has rows whose partition was not created in time; normally it is empty.

-- CACHE 1: the order of ids is the order of arrival.
CREATE SEQUENCE broker_message_id_seq CACHE 1;
CREATE SEQUENCE broker_unit_of_work_id_seq CACHE 20;
CREATE SEQUENCE broker_owner_id_seq AS integer;

CREATE TABLE broker_message (
    id bigint NOT NULL PRIMARY KEY,
    put_at timestamptz NOT NULL,
    expires_at timestamptz,
    copied_from bigint,
    priority smallint NOT NULL,
    routing_type smallint,
    durable boolean NOT NULL,
    address text NOT NULL,
    content_type text NOT NULL,
    producer text NOT NULL,
    message_id text,
    correlation_id text,
    reply_to text,
    subject text,
    group_id text,
    properties jsonb NOT NULL,
    body bytea NOT NULL,
    descriptor jsonb,  -- fields of IBM MQ's MQMD that differ from their defaults
    headers bytea,  -- IBM MQ's chained headers before the body
    envelope bytea,  -- other sections of the AMQP message
    first_id bigint  -- the first original of a copy, over copies of copies
) PARTITION BY RANGE (id);
CREATE INDEX broker_message_first_id ON broker_message (first_id)
    WHERE first_id IS NOT NULL;
CREATE TABLE broker_message_default PARTITION OF broker_message DEFAULT;

-- Ready entries. Rows are inserted and deleted, not updated, except by a restart. An entry
-- that is backed out repeatedly leaves a dead row each time, so autovacuum runs early.
CREATE TABLE broker_ready (
    queue_id integer NOT NULL,
    priority smallint NOT NULL,
    pos bigint NOT NULL,
    id bigint NOT NULL,
    backout_count integer NOT NULL DEFAULT 0,
    delivery_count integer NOT NULL DEFAULT 0,
    expires_at timestamptz,
    PRIMARY KEY (queue_id, priority, pos)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX broker_ready_expiry ON broker_ready (expires_at)
    WHERE expires_at IS NOT NULL;

CREATE TABLE broker_delayed (
    due_at timestamptz NOT NULL,
    id bigint NOT NULL,
    queue_id integer NOT NULL,
    priority smallint NOT NULL,
    backout_count integer NOT NULL DEFAULT 0,
    delivery_count integer NOT NULL DEFAULT 0,
    expires_at timestamptz,
    PRIMARY KEY (id, queue_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX broker_delayed_queue ON broker_delayed (queue_id, due_at, id);
CREATE INDEX broker_delayed_expiry ON broker_delayed (expires_at)
    WHERE expires_at IS NOT NULL;

CREATE TABLE broker_owner (
    id integer NOT NULL PRIMARY KEY,
    kind text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE broker_unit_of_work (
    id bigint NOT NULL PRIMARY KEY,
    owner_id integer NOT NULL,
    started_at timestamptz NOT NULL,
    deadline timestamptz,  -- null: ended with its process, or by its coordinator
    xid text,  -- the coordinator's transaction id, once prepared
    puts integer NOT NULL DEFAULT 0  -- messages put so far, noted once a second
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX broker_unit_of_work_owner ON broker_unit_of_work (owner_id);
CREATE UNIQUE INDEX broker_unit_of_work_xid ON broker_unit_of_work (xid)
    WHERE xid IS NOT NULL;

-- Messages that a prepared unit of work will put when it commits.
CREATE TABLE broker_prepared_put (
    uow bigint NOT NULL,
    ord integer NOT NULL,
    fields jsonb NOT NULL,
    body bytea NOT NULL,
    headers bytea,
    envelope bytea,
    PRIMARY KEY (uow, ord)
);

-- Entries that units of work have claimed, in arrays of up to 200.
CREATE TABLE broker_claim (
    uow bigint NOT NULL,
    claim_id integer NOT NULL,
    queue_id integer NOT NULL,
    claimed_at timestamptz NOT NULL,
    ids bigint[] NOT NULL,
    priorities smallint[] NOT NULL,
    backout_counts integer[] NOT NULL,
    delivery_counts integer[] NOT NULL,
    expiries timestamptz[] NOT NULL,
    PRIMARY KEY (uow, claim_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE broker_dead_letter (
    message_id bigint NOT NULL,
    queue_id integer NOT NULL,
    died_at timestamptz NOT NULL,
    origin_id bigint NOT NULL,
    backout_count integer NOT NULL,
    resubmit_count integer NOT NULL,
    cause text NOT NULL,
    error text NOT NULL,
    fingerprint text NOT NULL,
    pattern text NOT NULL,
    origin_address text NOT NULL,
    origin_queue text NOT NULL,
    reason integer,  -- IBM MQ's reason code
    PRIMARY KEY (message_id, queue_id)
);
CREATE INDEX broker_dead_letter_fingerprint
    ON broker_dead_letter (fingerprint, message_id, queue_id);
-- Dead letters that keep their put time: the order of their ids is not that of their
-- deaths.
CREATE INDEX broker_dead_letter_late ON broker_dead_letter (message_id, queue_id)
    WHERE cause IN ('BACKOUT_THRESHOLD', 'MALFORMED', 'UNWANTED', 'REPORT');

-- Annotations of AMQP's outcome ``modified``, for the next deliveries of an entry.
CREATE TABLE broker_annotations (
    message_id bigint NOT NULL,
    queue_id integer NOT NULL,
    annotations jsonb NOT NULL,  -- hex of each encoded value, by name
    PRIMARY KEY (message_id, queue_id)
);

-- What tasks returned; kept as long as their messages.
CREATE TABLE broker_returned (message_id bigint NOT NULL PRIMARY KEY, value jsonb NOT NULL);

-- The discard bin.
CREATE TABLE broker_discarded (
    message_id bigint NOT NULL,
    queue_id integer NOT NULL,
    queue text NOT NULL,
    discarded_at timestamptz NOT NULL,
    keep_until timestamptz NOT NULL,
    reason integer,
    why text NOT NULL,
    priority smallint NOT NULL,
    backout_count integer NOT NULL,
    delivery_count integer NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (message_id, queue_id)
);
CREATE INDEX broker_discarded_due ON broker_discarded (keep_until);
CREATE INDEX broker_discarded_order
    ON broker_discarded (discarded_at, message_id, queue_id);

CREATE SEQUENCE broker_event_seq CACHE 20;
CREATE TABLE broker_event (
    seq bigint NOT NULL DEFAULT nextval('broker_event_seq'),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    at timestamptz NOT NULL,
    uow bigint,
    queue_id integer NOT NULL,
    n integer NOT NULL,
    kind smallint NOT NULL,
    came_from smallint,
    went_to smallint,
    actor text NOT NULL DEFAULT '',
    ids bigint[] NOT NULL,
    detail jsonb,
    held_ms integer  -- of accepted entries: milliseconds from get to accept
) PARTITION BY RANGE (at);
CREATE TABLE broker_event_default PARTITION OF broker_event DEFAULT;
-- Compression does not reduce arrays of ids, and costs time.
ALTER TABLE broker_event ALTER COLUMN ids SET STORAGE EXTERNAL;
-- BRIN: two hundred times smaller than a B-tree. By xid, for readers of the journal; by
-- the first and last id of an event, for the events of one message.
CREATE INDEX broker_event_xid ON broker_event
    USING brin (xid) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX broker_event_ids ON broker_event
    USING brin ((ids[1]), (ids[cardinality(ids)]))
    WITH (pages_per_range = 16, autosummarize = on);

-- Sums of the journal up to the watermark of the reader 'tally'.
CREATE TABLE broker_tally (
    queue_id integer NOT NULL,
    kind smallint NOT NULL,
    came_from smallint NOT NULL, went_to smallint NOT NULL,
    entries bigint NOT NULL,
    PRIMARY KEY (queue_id, kind, came_from, went_to)
);

-- Accepted entries by the time from get to accept, up to the same watermark. The buckets
-- are those of broker.queueing.journal.BOUNDS_MS.
CREATE TABLE broker_held (
    queue_id integer NOT NULL, bucket smallint NOT NULL, entries bigint NOT NULL,
    PRIMARY KEY (queue_id, bucket));

-- The hash of an audit record: over the hash before it, its number, and its fields, each
-- written as length in bytes, colon, text, comma (docs/audit.md).
CREATE FUNCTION broker_audit_hash(before text, number bigint, said broker_audit)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(string_agg(
        octet_length(convert_to(field, 'UTF8')) || ':' || field || ',', ''
        ORDER BY place), 'UTF8')), 'hex')
    FROM unnest(ARRAY[
        before,
        number::text,
        to_char(said.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        said.actor_kind,
        coalesce(said.actor_id::text, ''),
        said.actor,
        said.source,
        said.act,
        said.object_kind,
        said.object_id,
        said.object_name,
        said.outcome,
        said.reason,
        said.detail,
        coalesce(said.operation_id::text, '')
    ]) WITH ORDINALITY AS fields (field, place)
$$;

-- Links a record to the one before it, at commit. The lock is the last that the
-- transaction takes, and is held until the commit is complete. The statement after it sees
-- the record that the last holder committed.
CREATE FUNCTION broker_audit_chain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text;
    place bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('broker_audit', 0));
    SELECT record.number, record.hash INTO place, before
    FROM broker_audit AS record
    WHERE record.number IS NOT NULL
    ORDER BY record.number DESC
    LIMIT 1;
    place := coalesce(place, 0) + 1;
    before := coalesce(before, repeat('0', 64));
    UPDATE broker_audit AS record
    SET number = place, hash = broker_audit_hash(before, place, record)
    WHERE record.id = NEW.id;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER audit_is_chained AFTER INSERT ON broker_audit
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION broker_audit_chain();

CREATE FUNCTION broker_audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN  -- only its number and hash, and only once
        IF OLD.hash IS NULL
            AND to_jsonb(NEW) - 'number' - 'hash' = to_jsonb(OLD) - 'number' - 'hash'
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'Records of the audit are neither changed nor taken away.'
        USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE ON broker_audit
    FOR EACH ROW EXECUTE FUNCTION broker_audit_keep();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON broker_audit
    FOR EACH STATEMENT EXECUTE FUNCTION broker_audit_keep();

-- Whoever empties the table of queues, as Django's flush does, empties the hot tables: an
-- entry without its queue is nobody's. Only tables that have rows are truncated, as most
-- of them have none between two tests. Processes stay registered.
--
-- The audit stays, and says who emptied the rest; unless its owner switched its guard off,
-- which only a database of tests has.
CREATE FUNCTION broker_flush() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    used text;
    guarded boolean;
BEGIN
    SELECT tgenabled <> 'D' INTO guarded FROM pg_trigger
    WHERE tgrelid = 'broker_audit'::regclass AND tgname = 'audit_is_not_emptied';
    SELECT string_agg(oid::regclass::text, ', ') INTO used
    FROM (
        SELECT coalesce(tree.relid, hot.root) AS oid
        FROM unnest(ARRAY['broker_message', 'broker_event', 'broker_ready',
            'broker_delayed', 'broker_unit_of_work', 'broker_prepared_put',
            'broker_claim', 'broker_dead_letter', 'broker_discarded',
            'broker_annotations', 'broker_returned', 'broker_tally', 'broker_held',
            'broker_audit']::regclass[]) AS hot (root)
        LEFT JOIN LATERAL pg_partition_tree(hot.root) AS tree ON tree.isleaf
        WHERE hot.root <> 'broker_audit'::regclass OR NOT guarded
    ) AS leaf
    WHERE pg_relation_size(oid) > 0;
    IF used IS NOT NULL THEN
        EXECUTE 'TRUNCATE ' || used;
    END IF;
    IF guarded THEN
        INSERT INTO broker_audit (actor_kind, actor, source, act, object_kind, object_id,
            object_name, outcome, reason, detail)
        VALUES ('system', session_user, '', 'database.flush', 'database', '',
            current_database(), 'done', '', '{}');
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER entries_go_with_queues AFTER TRUNCATE ON broker_queue
    FOR EACH STATEMENT EXECUTE FUNCTION broker_flush();
