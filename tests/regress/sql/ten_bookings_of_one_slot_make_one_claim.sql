--
-- case 14: ten bookings of one slot. Here all ten are one statement, which
-- sees its own claims; with ten connections it is a test of its own.
--
SELECT answer->>'outcome' AS outcome, answer->'ok' AS ok, count(*)
  FROM generate_series(1, 10) AS n, claim_slot('case 14', 'run ' || n) AS answer
 GROUP BY 1, 2 ORDER BY 1;
SELECT count(*) FROM claims.slot_claims WHERE slot_id = 'case 14';
