--
-- The first who begins a key runs it; whoever comes while its lease runs waits,
-- and is told for how long (case 1, here one after the other).
--
SELECT facts(begin_key('evt 1', 'h1', lease => '1 hour'));
SELECT facts(begin_key('evt 1', 'h2'));
SELECT answer->>'outcome' AS outcome, answer->'ok' AS ok,
       (answer->>'retry_after_ms')::bigint BETWEEN 3500000 AND 3600000 AS retry_after_ms
  FROM begin_key('evt 1', 'h2') AS answer;

-- A second call by the same holder is a second call, and told that it waits for
-- itself.
SELECT facts(begin_key('evt 1', 'h1'));

SELECT key, status, holder, token, attempt, finished_at, result, lease_expires_at - started_at AS lease
  FROM claims.keys WHERE key = 'evt 1';

-- Without a lease it is pg_claims.default_lease.
SELECT begin_key('evt 2', 'h1') -> 'lease_ms' AS lease_ms;
SELECT begin_key('evt 3', 'h1', NULL, NULL, NULL) -> 'lease_ms' AS lease_ms;

-- A key may be a number or a uuid.
SELECT facts(begin_key(12345, 'run-1'));
SELECT facts(begin_key('12345', 'run-2'));
SELECT facts(begin_key(12345::numeric, 'run-2'));
SELECT facts(begin_key('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid, 'run-1'));

-- A key that is waited for writes nothing.
BEGIN;
SELECT facts(begin_key('evt 1', 'h2'));
SELECT pg_current_xact_id_if_assigned() IS NULL AS wrote_nothing;
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;

-- Twenty in one statement.
SELECT answer->>'outcome' AS outcome, answer->'ok' AS ok, count(*)
  FROM generate_series(1, 20) AS n, begin_key('case 1', 'run ' || n) AS answer
 GROUP BY 1, 2 ORDER BY 1;
