--
-- Two claims of one slot never overlap, however they lie to each other (case
-- 16). The refusal names the period that is in the way and who has it, but not
-- with which token.
--
SELECT facts(claim_period('calendar 1', 'h1', '2031-01-02T09:15Z', '2031-01-02T09:30Z', ttl => '1 hour'));
SELECT facts(claim_period('calendar 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT facts(claim_period('calendar 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour'));
SELECT facts(claim_period('calendar 2', 'h2', '2031-01-02T09:15Z', '2031-01-02T09:30Z'));

-- Every way in which two periods can lie.
SELECT starts_at, ends_at, answer->>'outcome' AS outcome, answer->>'held_by' AS held_by,
       answer->>'starts_at' AS there_from, answer->>'ends_at' AS there_to
  FROM (VALUES ('08:00', '09:00:00.000001'), ('08:00', '09:30'), ('08:00', '10:00'), ('08:00', '11:00'),
               ('09:00', '09:30'), ('09:00', '10:00'), ('09:00', '11:00'), ('09:20', '09:40'), ('09:30', '10:00'),
               ('09:30', '11:00'), ('09:59:59.999999', '11:00'), ('08:00', '09:00'), ('10:00', '11:00')) AS periods(starts_at, ends_at),
       claim_period('calendar 2', 'h' || starts_at || ends_at, '2031-01-02T' || starts_at || 'Z', '2031-01-02T' || ends_at || 'Z') AS answer;

-- Until when, and how long that is from now.
SELECT (answer->>'expires_at')::timestamptz - (answer->>'claimed_at')::timestamptz AS lease,
       (answer->>'retry_after_ms')::bigint BETWEEN 3500000 AND 3600000 AS retry_after_ms
  FROM claim_period('calendar 2', 'h2', '2031-01-02T09:15Z', '2031-01-02T09:30Z') AS answer;

-- Booked, and in review.
SELECT confirm_slot('calendar 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(claim_period('calendar 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT claim_period('calendar 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ?| ARRAY['expires_at', 'retry_after_ms', 'token']
    AS says_when;
SELECT release_slot('calendar 2', 'h1', 1, in_doubt => true) ->> 'outcome' AS outcome;
SELECT facts(claim_period('calendar 2', 'h2', '2031-01-02T09:15Z', '2031-01-02T09:30Z'));

-- Another slot is another calendar.
SELECT claim_period('calendar 3', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS outcome;

-- Refused claims have left nothing.
SELECT * FROM claims_of('calendar 1');
SELECT * FROM claims_of('calendar 2');
