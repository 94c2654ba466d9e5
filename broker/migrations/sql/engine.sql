-- The hot tables. Messages and the journal are partitioned, so that they leave by
-- dropping a partition; the default partitions are nets, and are empty in health.

-- CACHE 1: its order is the order of arrival.
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
    CONSTRAINT priorities_are_0_to_9 CHECK (priority BETWEEN 0 AND 9)
) PARTITION BY RANGE (id);
CREATE TABLE broker_message_default PARTITION OF broker_message DEFAULT;

-- The queue itself. Inserted and deleted, never updated.
CREATE TABLE broker_ready (
    queue_id integer NOT NULL,
    priority smallint NOT NULL,
    pos bigint NOT NULL,
    id bigint NOT NULL,
    backout_count integer NOT NULL DEFAULT 0,
    delivery_count integer NOT NULL DEFAULT 0,
    expires_at timestamptz,
    PRIMARY KEY (queue_id, priority, pos),
    CONSTRAINT backouts_are_deliveries CHECK (backout_count <= delivery_count)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 20000,
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
    PRIMARY KEY (id, queue_id),
    CONSTRAINT delayed_backouts_are_deliveries CHECK (backout_count <= delivery_count)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX broker_delayed_due ON broker_delayed (due_at, id);
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
    deadline timestamptz NOT NULL
);
CREATE INDEX broker_unit_of_work_owner ON broker_unit_of_work (owner_id);

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
    PRIMARY KEY (uow, claim_id),
    CONSTRAINT claims_hold_something CHECK (cardinality(ids) > 0),
    CONSTRAINT claim_arrays_run_in_step CHECK (
        cardinality(ids) = cardinality(priorities)
        AND cardinality(ids) = cardinality(backout_counts)
        AND cardinality(ids) = cardinality(delivery_counts)
        AND cardinality(ids) = cardinality(expiries)
    )
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
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
    PRIMARY KEY (message_id, queue_id)
);

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
    CONSTRAINT events_are_about_something CHECK (n = cardinality(ids) AND n > 0),
    CONSTRAINT events_have_a_from_or_a_to
        CHECK (came_from IS NOT NULL OR went_to IS NOT NULL)
) PARTITION BY RANGE (at);
CREATE TABLE broker_event_default PARTITION OF broker_event DEFAULT;
-- Two hundred times smaller than a B-tree, and free to keep: windows of xid for who
-- follows the journal, first and last id for the life-line of one message.
CREATE INDEX broker_event_xid ON broker_event
    USING brin (xid) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX broker_event_ids ON broker_event
    USING brin ((ids[1]), (ids[cardinality(ids)]))
    WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE broker_tally (
    queue_id integer NOT NULL,
    kind smallint NOT NULL,
    came_from smallint NOT NULL,
    went_to smallint NOT NULL,
    entries bigint NOT NULL,
    PRIMARY KEY (queue_id, kind, came_from, went_to)
);
INSERT INTO broker_watermark (reader) VALUES ('tally');
