-- What a call answers, in a word, or what it raises.
CREATE FUNCTION pg_temp.outcome(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    state text;
    hint text;
BEGIN
    EXECUTE 'SELECT (' || call || ')::text' INTO answer;
    RETURN CASE WHEN answer LIKE '{%' THEN concat_ws(' ', answer::jsonb ->> 'outcome', answer::jsonb ->> 'token') ELSE answer END;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' ', state, hint);
END
$$;
