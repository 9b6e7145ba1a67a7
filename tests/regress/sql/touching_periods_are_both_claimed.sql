--
-- The end of a period is free again: the next one may begin at that very
-- instant (case 17), whatever offsets the two are written with.
--
SELECT facts(claim_period('nook 1', 'h1', '2031-01-02T12:00Z', '2031-01-02T13:00Z'));
SELECT facts(claim_period('nook 1', 'h2', '2031-01-02T13:00Z', '2031-01-02T14:00Z'));
SELECT facts(claim_period('nook 1', 'h3', '2031-01-02T12:00+01:00', '2031-01-02T13:00+01:00'));
SELECT facts(claim_period('nook 1', 'h4', '2031-01-02T11:00:00Z', '2031-01-02T11:00:00.000001Z')) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('nook 1');

-- A whole day without a gap and without a refusal; then nothing is left of it.
SELECT count(*), answer->>'outcome' AS outcome
  FROM generate_series(timestamptz '2031-02-01 00:00Z', '2031-02-01 23:45Z', '15 minutes') AS t(at),
       claim_period('nook 2', 'h' || extract(epoch FROM at), to_json(at AT TIME ZONE 'UTC') #>> '{}' || 'Z',
                    to_json((at + '15 minutes') AT TIME ZONE 'UTC') #>> '{}' || 'Z') AS answer
 GROUP BY 2;
SELECT claim_period('nook 2', 'h', '2031-02-01T23:59:59.999999Z', '2031-02-02T00:00Z') ->> 'outcome' AS last_instant,
       claim_period('nook 2', 'h', '2031-02-02T00:00Z', '2031-02-02T00:15Z') ->> 'outcome' AS next_day;
SELECT facts(check_claims());
