--
-- The calendar call succeeds after the lease: the period is booked late, unless
-- somebody who overlaps it has come in between (case 20). Whoever only touches
-- it is no winner.
--
CREATE FUNCTION pg_temp.expired_period(slot text, holder text, starts_at text, ends_at text, on_expiry text DEFAULT 'release')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb := claim_period(slot, holder, starts_at, ends_at, ttl => '1 ms', on_expiry => on_expiry);
BEGIN
  PERFORM pg_sleep(0.02);
  RETURN answer->>'token';
END
$$;

-- Nobody has ended it.
SELECT pg_temp.expired_period('salon 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT facts(confirm_slot('salon 1', 'h1', 1, '{"event": "e1"}'));
SELECT * FROM claims_of('salon 1');

-- The reaper has, and others have what lies beside it.
SELECT pg_temp.expired_period('salon 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT claim_period('salon 2', 'h2', '2031-01-02T08:00Z', '2031-01-02T09:00Z', ttl => '1 hour') ->> 'outcome' AS before,
       claim_period('salon 2', 'h3', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '1 hour') ->> 'outcome' AS after;
SELECT facts(extend_slot('salon 2', 'h1', 1));
SELECT facts(confirm_slot('salon 2', 'h1', 1, '{"event": "e1"}'));
SELECT facts(confirm_slot('salon 2', 'h1', 1));
SELECT * FROM claims_of('salon 2');
SELECT facts(claim_period('salon 2', 'h4', '2031-01-02T09:30Z', '2031-01-02T09:45Z'));
-- From the old token on.
SELECT facts(cancel_slot('salon 2', 'desk', 1));
SELECT facts(confirm_slot('salon 2', 'h1', 1));

-- Another has it: lost, to whom, since when and for which time.
SELECT pg_temp.expired_period('salon 3', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT claim_period('salon 3', 'h2', '2031-01-02T09:45Z', '2031-01-02T10:45Z', ttl => '1 hour') ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('salon 3', 'h1', 1));
SELECT facts(release_slot('salon 3', 'h1', 1));
SELECT facts(extend_slot('salon 3', 'h1', 1));
SELECT facts(move_period('salon 3', 'h1', 1, '2031-01-03T09:00Z', '2031-01-03T10:00Z'));
SELECT facts(resolve_slot('salon 3', 'h1', 1, 'booked'));
SELECT facts(cancel_slot('salon 3', 'desk', 1));
SELECT (answer->>'lost_since')::timestamptz = c.claimed_at AS since
  FROM confirm_slot('salon 3', 'h1', 1) AS answer, claims.slot_claims AS c WHERE c.slot_id = 'salon 3' AND c.token = 2;
SELECT * FROM claims_of('salon 3');
-- When the other has gone, it may be confirmed after all.
SELECT release_slot('salon 3', 'h2', 2) ->> 'outcome' AS outcome;
SELECT facts(release_slot('salon 3', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('salon 3', 'h1', 1)) ->> 'outcome' AS outcome;

-- Only another's expired claim is there: it ends.
SELECT pg_temp.expired_period('salon 4', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT pg_temp.expired_period('salon 4', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z');
SELECT facts(confirm_slot('salon 4', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT token, holder, status, origin, ended_by FROM claims.slot_claims WHERE slot_id = 'salon 4' ORDER BY token;
SELECT facts(confirm_slot('salon 4', 'h2', 2)) ->> 'lost_to' AS lost_to;

-- The winner may be the holder itself.
SELECT pg_temp.expired_period('salon 5', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT claim_period('salon 5', 'h1', '2031-01-02T09:30Z', '2031-01-02T10:30Z', ttl => '1 hour') ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('salon 5', 'h1', 1));
SELECT facts(confirm_slot('salon 5', 'h1')) ->> 'token' AS token;

-- Released by an error workflow, or resolved as released.
SELECT claim_period('salon 6', 'run of salon 6', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS outcome,
       release_holder('run of salon 6') ->> 'released' AS released;
SELECT facts(confirm_slot('salon 6', 'run of salon 6', 1)) ->> 'outcome' AS outcome;
SELECT pg_temp.expired_period('salon 7', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', 'review');
SELECT resolve_slot('salon 7', 'h1', 1, 'released') ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('salon 7', 'h1', 1)) ->> 'outcome' AS outcome;

-- In doubt after the reaper: blocked once more, if nobody has come.
SELECT pg_temp.expired_period('salon 8', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z');
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT facts(release_slot('salon 8', 'h1', 1, in_doubt => true));
SELECT facts(claim_period('salon 8', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z'));
SELECT * FROM claims_of('salon 8');

SELECT facts(check_claims());
