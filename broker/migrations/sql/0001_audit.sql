-- The hash of a record of the audit: over the hash before it, its number, and each of its
-- fields, written as length in bytes, colon, text, comma (docs/audit.md).
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

-- Links a record to the one before it, as the transaction commits. The lock is the last
-- that the transaction takes, and is held until the commit is through. The statement
-- after it sees what the last holder committed.
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
