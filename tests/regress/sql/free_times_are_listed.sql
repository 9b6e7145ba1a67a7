--
-- free_periods offers what a claim would get: the starts inside the window, in
-- order, without what is claimed, booked or in review.
--
CREATE FUNCTION pg_temp.offered(answer jsonb) RETURNS TABLE (starts_at text, ends_at text, available text) LANGUAGE sql AS $$
  SELECT one->>'starts_at', one->>'ends_at', one->>'available'
    FROM jsonb_array_elements(answer->'free') WITH ORDINALITY AS free(one, n) ORDER BY n
$$;

SELECT facts(free_periods('doctor 1', '2031-01-02T09:00+01:00', '2031-01-02T11:00+01:00', '1 hour'));
SELECT claim_period('doctor 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T09:30Z', ttl => '1 hour') ->> 'outcome' AS outcome,
       claim_period('doctor 1', 'h2', '2031-01-02T10:15Z', '2031-01-02T10:45Z') ->> 'outcome' AS outcome,
       confirm_slot('doctor 1', 'h2', 2) ->> 'outcome' AS outcome,
       claim_period('doctor 1', 'h3', '2031-01-02T12:00Z', '2031-01-02T12:30Z') ->> 'outcome' AS outcome,
       release_slot('doctor 1', 'h3', 3, in_doubt => true) ->> 'outcome' AS outcome,
       claim_period('doctor 1', 'h4', '2031-01-02T11:00Z', '2031-01-02T11:30Z', ttl => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT * FROM pg_temp.offered(free_periods('doctor 1', '2031-01-02T09:00Z', '2031-01-02T13:00Z', '30 minutes'));
-- Every quarter of an hour, of a length that is no multiple of it.
SELECT * FROM pg_temp.offered(free_periods('doctor 1', '2031-01-02T09:00Z', '2031-01-02T12:00Z', '40 minutes', '15 minutes'));
SELECT * FROM claims_of('doctor 1');

-- Each of them is got, and nothing else.
SELECT count(*) FILTER (WHERE offered.starts_at IS NOT NULL) AS offered, count(*) FILTER (WHERE checked->>'outcome' = 'free') AS free,
       bool_and((offered.starts_at IS NOT NULL) = (checked->>'outcome' = 'free')) AS the_same
  FROM generate_series(timestamptz '2031-01-02 09:00Z', '2031-01-02 11:20Z', '5 minutes') AS t(at)
  LEFT JOIN pg_temp.offered(free_periods('doctor 1', '2031-01-02T09:00Z', '2031-01-02T12:00Z', '40 minutes', '5 minutes')) AS offered
         ON offered.starts_at::timestamptz = at,
       check_period('doctor 1', to_json(at AT TIME ZONE 'UTC') #>> '{}' || 'Z',
                    to_json((at + '40 minutes') AT TIME ZONE 'UTC') #>> '{}' || 'Z') AS checked;

-- Nothing free, too short a window, and the whole slot taken.
SELECT facts(free_periods('doctor 1', '2031-01-02T09:00Z', '2031-01-02T09:30Z', '30 minutes'));
SELECT facts(free_periods('doctor 1', '2031-01-02T09:30Z', '2031-01-02T10:00Z', '31 minutes'));
SELECT facts(free_periods('doctor 1', '2031-01-02T09:30Z', '2031-01-02T10:00Z', '30 minutes')) ->> 'outcome' AS exactly;
SELECT claim_slot('doctor 2', 'h1') ->> 'outcome' AS outcome;
SELECT facts(free_periods('doctor 2', '2031-01-02T09:00Z', '2031-01-02T18:00Z', '30 minutes'));

-- Of a pool: what is left at each.
SELECT set_capacity('bench 1', 3) ->> 'outcome' AS outcome;
SELECT claim_period('bench 1', 'h1', '2031-01-02T19:00Z', '2031-01-02T21:00Z', units => 2) ->> 'outcome' AS outcome,
       claim_period('bench 1', 'h2', '2031-01-02T20:00Z', '2031-01-02T22:00Z', units => 1) ->> 'outcome' AS outcome;
SELECT facts(free_periods('bench 1', '2031-01-02T18:00Z', '2031-01-02T23:00Z', '1 hour')) - 'free';
SELECT * FROM pg_temp.offered(free_periods('bench 1', '2031-01-02T18:00Z', '2031-01-02T23:00Z', '1 hour'));
SELECT * FROM pg_temp.offered(free_periods('bench 1', '2031-01-02T18:00Z', '2031-01-02T23:00Z', '2 hours', '1 hour'));

-- Works where nothing can be written.
BEGIN READ ONLY;
SELECT facts(free_periods('doctor 1', '2031-01-02T14:00Z', '2031-01-02T14:30Z', '30 minutes'));
COMMIT;
