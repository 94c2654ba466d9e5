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
