--
-- case 31: an advisory lock stranded by a pooler. Here none outlives its
-- transaction, and a call that changed nothing lets go of it at once.
--
CREATE FUNCTION my_locks() RETURNS bigint LANGUAGE sql AS $$
  SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
$$;

SELECT facts(claim_slot('rack 1', 'h1', '1 hour'));
SELECT my_locks();
SELECT facts(extend_slot('rack 1', 'h1', 1, '2 hours'));
SELECT holds_slot('rack 1', 'h1', 1);
SELECT my_locks();
SELECT facts(release_slot('rack 1', 'h1', 1, in_doubt => true));
SELECT facts(resolve_slot('rack 1', 'h1', 1, 'booked'));
SELECT facts(confirm_slot('rack 1', 'h1', 1));
SELECT facts(cancel_slot('rack 1', 'h1', 1));
SELECT facts(release_holder('h of no rack')) ->> 'outcome' AS outcome;
SELECT my_locks();

-- A refusal keeps none, even while the transaction is open.
BEGIN;
SELECT facts(confirm_slot('rack 1', 'h2', 1));
SELECT facts(release_slot('rack 1', 'h2', 1));
SELECT facts(extend_slot('rack 1', 'h2', 1));
SELECT facts(cancel_slot('rack 1', 'h1', 1));
SELECT facts(cancel_slot('rack 2', 'h1', 1));
SELECT facts(resolve_slot('rack 1', 'h1', 1, 'booked'));
SELECT my_locks();
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
COMMIT;

-- A change keeps its lock until the end of the transaction, and only there.
BEGIN;
SELECT facts(claim_slot('rack 3', 'h1', '1 hour'));
SELECT my_locks() > 0 AS locked;
ROLLBACK;
SELECT my_locks();

-- An error lets go of it.
BEGIN;
SELECT facts(claim_slot('rack 3', 'h1', '1 hour'));
SELECT claim_slot('', 'h1');
ROLLBACK;
SELECT my_locks();

DROP FUNCTION my_locks;
