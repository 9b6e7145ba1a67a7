--
-- One transaction, even one statement, may write one row many times, in blocks that are
-- undone and in blocks that stay: each call sees what is true by then.
--
SELECT string_agg(answer ->> 'outcome', ', ' ORDER BY n)
  FROM (SELECT n, CASE n % 5
            WHEN 1 THEN claim_slot('again 1', 'h' || n, call_id => 'c')
            WHEN 2 THEN extend_slot('again 1', 'h' || n - 1, ttl => '1 hour')
            WHEN 3 THEN release_slot('again 1', 'h' || n - 2, in_doubt => true)
            WHEN 4 THEN resolve_slot('again 1', 'h' || n - 3, n / 5 + 1, 'booked')
            ELSE cancel_slot('again 1', 'desk', n / 5)
          END AS answer
          FROM generate_series(1, 20) AS n) AS call;
SELECT * FROM claims_of('again 1');

-- Savepoints, some of them undone, by a user and by an error in the midst of a write.
ALTER TABLE claims.slot_claims ADD CONSTRAINT not_this CHECK (reason <> 'not this');
ALTER TABLE claims.keys ADD CONSTRAINT not_this CHECK (result <> '"not this"');
\set VERBOSITY terse
BEGIN;
SELECT facts(claim_slot('again 2', 'h1')), facts(begin_key('again', 'h1'));
SAVEPOINT one;
SELECT facts(confirm_slot('again 2', 'h1')), facts(finish_key('again', 'h1', 1));
ROLLBACK TO one;
SELECT facts(check_slot('again 2')), facts(check_key('again'));
SELECT release_slot('again 2', 'h1', reason => 'not this');
ROLLBACK TO one;
SELECT finish_key('again', 'h1', 1, '"not this"');
ROLLBACK TO one;
SELECT facts(release_slot('again 2', 'h1')), facts(claim_slot('again 2', 'h2'));
SAVEPOINT two;
SELECT facts(confirm_slot('again 2', 'h2', 2));
RELEASE two;
SELECT facts(finish_key('again', 'h1', 1, outcome => 'failed')), facts(begin_key('again', 'h2'));
RELEASE one;
SELECT facts(cancel_slot('again 2', 'desk', 2));
COMMIT;
\set VERBOSITY default
SELECT * FROM claims_of('again 2');
SELECT status, holder, token, attempt FROM claims.keys WHERE key = 'again';

-- A thousand blocks, of which every third is undone.
DO $$
DECLARE
  done int := 0;
BEGIN
  PERFORM set_capacity('again 3', 1000);
  FOR n IN 1..1000 LOOP
    BEGIN
      PERFORM claim_units('again 3', 'h' || n);
      PERFORM release_slot('again 3', 'h' || n, reason => CASE n % 3 WHEN 0 THEN 'not this' END);
      done := done + 1;
    EXCEPTION WHEN check_violation THEN
      NULL;
    END;
  END LOOP;
  RAISE NOTICE '% done', done;
END
$$;
SELECT status, count(*) FROM claims.slot_claims WHERE slot_id = 'again 3' GROUP BY status;
SELECT * FROM claims.pools WHERE slot_id = 'again 3';
ALTER TABLE claims.slot_claims DROP CONSTRAINT not_this;
ALTER TABLE claims.keys DROP CONSTRAINT not_this;

-- Cancelled in the midst of a write, again and again.
CREATE FUNCTION slow(what text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF what = 'again 4' THEN
    PERFORM pg_sleep(60);
  END IF;
  RETURN true;
END
$$;
CREATE INDEX slow ON claims.slot_claims (token) WHERE slow(slot_id);
SET statement_timeout = '20 ms';
SELECT claim_slot('again 4', 'h1');
SELECT claim_slot('again 4', 'h1');
RESET statement_timeout;
SELECT facts(claim_slot('again 5', 'h1'));
DROP INDEX claims.slow;
SELECT facts(claim_slot('again 4', 'h1'));
DROP FUNCTION slow;
SELECT check_claims() ->> 'outcome' AS outcome;
