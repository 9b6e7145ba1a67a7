-- A claim that was moved or confirmed late lives on in a later row. Its old token goes on
-- meaning that row, so the retention keeps the old row for as long as the later one is open.
SELECT claim_period('garret 1', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'outcome' AS outcome;
SELECT confirm_slot('garret 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT move_period('garret 1', 'h1', 1, '2031-01-02T12:00Z', '2031-01-02T13:00Z') ->> 'outcome' AS outcome,
       move_period('garret 1', 'h1', 1, '2031-01-02T14:00Z', '2031-01-02T15:00Z') ->> 'token' AS token;
SELECT claim_period('garret 1', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'outcome' AS outcome;
UPDATE claims.slot_claims SET ended_at = ended_at - interval '31 days' WHERE slot_id = 'garret 1' AND ended_at IS NOT NULL;
DELETE FROM claims.reaper_runs;
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT token, status, origin FROM claims.slot_claims WHERE slot_id = 'garret 1' ORDER BY token;
SELECT confirm_slot('garret 1', 'h1', 1) ->> 'outcome' AS outcome, confirm_slot('garret 1', 'h1', 2) ->> 'outcome' AS outcome;
SELECT facts(cancel_slot('garret 1', 'h1', 1)) ->> 'outcome' AS outcome;

-- Once that one has ended too, nothing keeps them.
UPDATE claims.slot_claims SET ended_at = ended_at - interval '31 days' WHERE slot_id = 'garret 1' AND ended_at IS NOT NULL;
DELETE FROM claims.reaper_runs;
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT token, status, origin FROM claims.slot_claims WHERE slot_id = 'garret 1' ORDER BY token;
