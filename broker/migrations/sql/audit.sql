-- The hash of a record: of the hash before, its number, and all that it says, each
-- written as its length in bytes, a colon, its text, and a comma (docs/audit.md).
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

-- Runs as the transaction of an act commits: the lock is the last that it takes, and is
-- held only until the commit is through, so that nobody waits for an act, and no two
-- acts for each other. Inside it, the next statement sees what the last holder
-- committed.
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
    IF TG_OP = 'UPDATE' THEN  -- of what is being chained, and of nothing but its link
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
