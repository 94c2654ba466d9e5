-- What IBM MQ's rules need of the hot tables. Columns that are null cost no space.

ALTER TABLE broker_message ADD COLUMN descriptor jsonb, ADD COLUMN headers bytea;

-- Once it is prepared: what its coordinator calls it.
ALTER TABLE broker_unit_of_work ADD COLUMN xid text;
CREATE UNIQUE INDEX broker_unit_of_work_xid ON broker_unit_of_work (xid)
    WHERE xid IS NOT NULL;

CREATE TABLE broker_prepared_put (
    uow bigint NOT NULL,
    ord integer NOT NULL,
    fields jsonb NOT NULL,
    body bytea NOT NULL,
    headers bytea,
    PRIMARY KEY (uow, ord)
);

ALTER TABLE broker_dead_letter ADD COLUMN reason integer;

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
