--
-- check_period says whether a claim of that period would succeed, writes nothing,
-- and works where nothing can be written.
--
SELECT facts(check_period('den 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT claim_period('den 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour') ->> 'token' AS token,
       claim_period('den 1', 'h2', '2031-01-02T11:00Z', '2031-01-02T12:00Z', ttl => '1 hour', on_expiry => 'review') ->> 'token' AS token,
       claim_period('den 1', 'h3', '2031-01-02T13:00Z', '2031-01-02T14:00Z') ->> 'token' AS token,
       confirm_slot('den 1', 'h3', 3, '{"event": "e3"}') ->> 'outcome' AS outcome;

BEGIN READ ONLY;
SELECT facts(check_period('den 1', '2031-01-02T10:00Z', '2031-01-02T11:00Z'));
SELECT facts(check_period('den 1', '2031-01-02T09:30Z', '2031-01-02T09:45Z'));
SELECT facts(check_period('den 1', '2031-01-02T10:30Z', '2031-01-02T11:30Z'));
SELECT facts(check_period('den 1', '2031-01-02T13:30Z', '2031-01-02T14:30Z'));
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT check_period('den 1', '2031-01-02T09:30Z', '2031-01-02T09:45Z') ->> 'outcome' AS outcome,
       free_periods('den 1', '2031-01-02T09:00Z', '2031-01-02T12:00Z', '1 hour') ->> 'outcome' AS outcome;
COMMIT;

-- How long still, and the call that would free it safely.
SELECT answer->>'hint' AS hint, (answer->>'remaining_ms')::bigint BETWEEN 3500000 AND 3600000 AS remaining_ms
  FROM check_period('den 1', '2031-01-02T09:30Z', '2031-01-02T09:45Z') AS answer;
SELECT answer->>'hint' AS hint, answer->>'remaining_ms' AS remaining_ms
  FROM check_period('den 1', '2031-01-02T13:30Z', '2031-01-02T13:45Z') AS answer;
SELECT release_slot('den 1', 'h2', 2, in_doubt => true) ->> 'outcome' AS outcome;
SELECT facts(check_period('den 1', '2031-01-02T11:00Z', '2031-01-02T12:00Z')) ->> 'status' AS status,
       check_period('den 1', '2031-01-02T11:00Z', '2031-01-02T12:00Z') ->> 'hint' AS hint;
SELECT check_period('den 1', '2031-01-02T11:00Z', '2031-01-02T12:00Z') ->> 'hint' AS hint \gset
SELECT facts(answer) FROM (:hint) AS hint(answer);
SELECT facts(check_period('den 1', '2031-01-02T11:00Z', '2031-01-02T12:00Z')) ->> 'outcome' AS outcome;

-- The slot as a whole is free when none of its periods is taken, whatever the
-- last claim was; who let a lease expire matters only then.
SELECT claim_period('den 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour') ->> 'token' AS token,
       claim_period('den 2', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '1 ms') ->> 'token' AS token, pg_sleep(0.02);
SELECT facts(check_slot('den 2')) ->> 'holder' AS holder, check_slot('den 2') ? 'previous_holder' AS tells_of_another;
SELECT release_slot('den 2', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(check_slot('den 2'));
SELECT * FROM claims_of('den 2');
