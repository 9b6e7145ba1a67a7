--
-- The functions reach their rows without a statement, unless somebody has put a
-- trigger on the table: then through SQL, so that it fires. Both ways give the
-- same answers and leave the same rows.
--
CREATE FUNCTION a_life(slot text) RETURNS TABLE (step bigint, answer jsonb) LANGUAGE sql VOLATILE AS $$
  SELECT n, facts(replace(answer::text, slot, '<slot>')::jsonb)
    FROM unnest(ARRAY[
      claim_slot(slot, 'h1', note => '{"n": 1.50}', call_id => 'c1'),
      claim_slot(slot, 'h1', call_id => 'c1'),
      claim_slot(slot, 'h2'),
      confirm_slot(slot, 'h1', 1, '{"event": [1, null, "é"]}'),
      confirm_slot(slot, 'h1', 1),
      cancel_slot(slot, 'desk', 1, 'ill'),
      confirm_slot(slot, 'h1', 1),
      claim_slot(slot, 'h2', on_expiry => 'review'),
      extend_slot(slot, 'h2', 2, '1 hour'),
      release_slot(slot, 'h2', 2, 'a timeout', in_doubt => true),
      resolve_slot(slot, 'h2', 2, 'released', '{"seen": false}'),
      confirm_slot(slot, 'h2', 2),
      claim_period(slot || ' period', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z'),
      claim_period(slot || ' period', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z'),
      claim_period(slot || ' period', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z'),
      move_period(slot || ' period', 'h2', 2, '2031-01-02T10:15Z', '2031-01-02T11:15Z'),
      confirm_slot(slot || ' period', 'h1'),
      set_capacity(slot || ' pool', 3),
      claim_units(slot || ' pool', 'h1', 2),
      claim_units(slot || ' pool', 'h2', 2),
      release_slot(slot || ' pool', 'h1'),
      claim_units(slot || ' pool', 'h2', 3),
      confirm_slot(slot || ' pool', 'h2'),
      begin_key(slot, 'h1', '{"a": 1}'),
      begin_key(slot, 'h2', '{"a": 1}'),
      begin_key(slot, 'h2', '{"a": 2}'),
      finish_key(slot, 'h1', 1, outcome => 'failed'),
      begin_key(slot, 'h2', '{"a": 1}'),
      finish_key(slot, 'h1', 1),
      finish_key(slot, 'h2', 2, '{"paid": 12.30}'),
      begin_key(slot, 'h3', '{"a": 1}'),
      reset_key(slot, 'desk', 'again'),
      check_key(slot),
      check_slot(slot)
    ]) WITH ORDINALITY AS call (answer, n)
$$;
CREATE FUNCTION its_rows(slot text) RETURNS SETOF jsonb LANGUAGE sql AS $$
  SELECT replace((to_jsonb(c) - ARRAY['claimed_at', 'expires_at', 'ended_at'])::text, slot, '<slot>')::jsonb
    FROM claims.slot_claims AS c WHERE slot_id LIKE slot || '%'
  UNION ALL
  SELECT replace(to_jsonb(p)::text, slot, '<slot>')::jsonb FROM claims.pools AS p WHERE slot_id LIKE slot || '%'
  UNION ALL
  SELECT replace((to_jsonb(k) - ARRAY['started_at', 'lease_expires_at', 'finished_at'])::text, slot, '<slot>')::jsonb
    FROM claims.keys AS k WHERE key = slot
$$;
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM nextval('public.fired');
  RETURN NEW;
END
$$;
CREATE SEQUENCE fired;
CREATE TEMP TABLE without_statements AS SELECT * FROM a_life('both ways 1');
CREATE TRIGGER watch BEFORE INSERT OR UPDATE ON claims.slot_claims FOR EACH ROW EXECUTE FUNCTION watch();
CREATE TRIGGER watch BEFORE INSERT OR UPDATE ON claims.pools FOR EACH ROW EXECUTE FUNCTION watch();
CREATE TRIGGER watch BEFORE INSERT OR UPDATE ON claims.keys FOR EACH ROW EXECUTE FUNCTION watch();
CREATE TEMP TABLE by_statements AS SELECT * FROM a_life('both ways 2');
SELECT nextval('fired') > 25 AS the_triggers_fired;
DROP TRIGGER watch ON claims.slot_claims;
DROP TRIGGER watch ON claims.pools;
DROP TRIGGER watch ON claims.keys;

SELECT step, answer ->> 'outcome' AS outcome FROM without_statements ORDER BY step;
SELECT step, a.answer AS without_statements, b.answer AS by_statements
  FROM without_statements AS a JOIN by_statements AS b USING (step) WHERE a.answer <> b.answer;
SELECT * FROM its_rows('both ways 1') EXCEPT ALL SELECT * FROM its_rows('both ways 2');
SELECT * FROM its_rows('both ways 2') EXCEPT ALL SELECT * FROM its_rows('both ways 1');
SELECT count(*) AS rows FROM its_rows('both ways 1');

-- And again without, once the triggers are gone; an index of somebody's is kept too.
SELECT nextval('fired') AS before \gset
CREATE INDEX by_time ON claims.slot_claims USING brin (claimed_at);
CREATE UNIQUE INDEX one_note ON claims.slot_claims ((note ->> 'only')) WHERE note ? 'only';
SELECT facts(claim_slot('both ways 3', 'h1', note => '{"only": 1}')) ->> 'outcome' AS outcome;
SELECT nextval('fired') - :before AS fired;
SET enable_seqscan = off;
SELECT slot_id FROM claims.slot_claims WHERE note ->> 'only' = '1' AND note ? 'only';
RESET enable_seqscan;
DROP INDEX claims.by_time, claims.one_note;

DROP FUNCTION a_life, its_rows, watch;
DROP SEQUENCE fired;
