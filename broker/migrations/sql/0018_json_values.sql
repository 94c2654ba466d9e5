-- The value at a path in a body that is JSON in UTF-8; NULL if it is not. A step is the
-- name of a member or the number of an element.
CREATE FUNCTION broker_json_value(body bytea, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN convert_from(body, 'UTF8')::jsonb #> path;
EXCEPTION WHEN OTHERS THEN  -- not that a statement is cancelled
    IF substring(body FOR 3) = '\xefbbbf' THEN  -- a byte order mark
        RETURN broker_json_value(substring(body FROM 4), path);
    END IF;
    RETURN NULL;
END
$$;

-- The values at a path in which NULL is any element of an array.
CREATE FUNCTION broker_json_values(body bytea, path text[]) RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    found jsonb[] := ARRAY[broker_json_value(body, '{}')];
    step text;
BEGIN
    FOREACH step IN ARRAY path LOOP
        IF step IS NULL THEN
            found := ARRAY(
                SELECT element FROM unnest(found) AS one, jsonb_array_elements(
                    CASE WHEN jsonb_typeof(one) = 'array' THEN one END) AS element);
        ELSE
            found := ARRAY(SELECT one #> ARRAY[step] FROM unnest(found) AS one);
        END IF;
    END LOOP;
    RETURN found;
END
$$;
