--
-- To lose is nearly free: no transaction id, no lock, no WAL.
--
SELECT facts(claim_slot('pit 1', 'h1', '1 hour'));
SELECT facts(claim_slot('pit 2', 'h1'));
SELECT facts(confirm_slot('pit 2', 'h1'));

BEGIN;
SELECT facts(claim_slot('pit 1', 'h2'));
SELECT facts(claim_slot('pit 1', 'h1'));
SELECT facts(claim_slot('pit 2', 'h2'));
SELECT facts(claim_slot('pit 3', 'h2', after => claim_slot('pit 1', 'h2')));
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;

-- Others write WAL as well, so one quiet attempt of twenty will do: a call that
-- writes would show in all of them.
VACUUM claims.slot_claims;
DO $$
DECLARE
  start pg_lsn;
BEGIN
  FOR attempt IN 1..20 LOOP
    start := pg_current_wal_insert_lsn();
    PERFORM claim_slot('pit 1', 'h2');
    IF pg_current_wal_insert_lsn() = start THEN
      RAISE NOTICE 'no WAL';
      RETURN;
    END IF;
    PERFORM pg_sleep(0.1);
  END LOOP;
  RAISE NOTICE 'each lost claim wrote WAL';
END
$$;
