-- Read all address settings, and their version: it changes with each change of a setting.
--
-- Locks    none.
-- Index    none: it reads the whole table.
-- Returns  one row: the version as in put_back.sql; the settings, by pattern.
SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY ctid)), ''),
    coalesce(jsonb_agg(to_jsonb(setting) ORDER BY match), '[]')
FROM broker_addresssetting AS setting;
