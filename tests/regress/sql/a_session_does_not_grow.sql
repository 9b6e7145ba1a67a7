--
-- However many calls a session makes, and however many of them fail, its memory does not
-- grow with them.
--
CREATE PROCEDURE many_calls(n int) LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  FOR i IN 1..n LOOP
    name := 'grow ' || i % 100;
    PERFORM claim_slot(name, 'h1', note => '{"n": 1}'), claim_slot(name, 'h2'), extend_slot(name, 'h1', ttl => '1 hour'),
            confirm_slot(name, 'h1', result => '{"n": 2}'), cancel_slot(name, 'h1', (check_slot(name) ->> 'token')::bigint);
    PERFORM begin_key(name, 'h1'), begin_key(name, 'h2'), finish_key(name, 'h1', NULL, '{"n": 3}'), begin_key(name, 'h2'), reset_key(name, 'h1');
    PERFORM claim_units('grow', 'h1', 2), release_slot('grow', 'h1');
    COMMIT;
    BEGIN
      PERFORM claim_slot(name, 'h1');
      PERFORM release_slot(name, 'h1', reason => 'not this');
      RAISE EXCEPTION 'not refused';
    EXCEPTION WHEN check_violation THEN
      NULL;
    END;
    COMMIT;
  END LOOP;
END
$$;
-- PostgreSQL's own memory, and all that the process has.
CREATE FUNCTION memory(OUT postgres bigint, OUT process bigint) LANGUAGE sql AS $$
  SELECT (SELECT sum(total_bytes) FROM pg_backend_memory_contexts),
         substring(pg_read_file('/proc/self/status') FROM 'RssAnon:\s*(\d+) kB')::bigint * 1024
$$;
ALTER TABLE claims.slot_claims ADD CONSTRAINT not_this CHECK (reason <> 'not this');
SELECT facts(set_capacity('grow', 3)) ->> 'outcome' AS outcome;
SET synchronous_commit = off;
CALL many_calls(200);
SELECT postgres, process FROM memory() \gset
CALL many_calls(2000);
SELECT CASE WHEN postgres - :postgres < 65536 THEN 'no' ELSE pg_size_pretty(postgres - :postgres) END AS postgres_has_grown,
       CASE WHEN process - :process < 2097152 THEN 'no' ELSE pg_size_pretty(process - :process) END AS the_process_has_grown
  FROM memory();
RESET synchronous_commit;
ALTER TABLE claims.slot_claims DROP CONSTRAINT not_this;
DROP PROCEDURE many_calls;
DROP FUNCTION memory;
