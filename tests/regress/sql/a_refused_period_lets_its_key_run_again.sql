--
-- A key and a period, or units, are one decision: whoever does not get the time has not
-- begun anything, and the key can run again.
--
SELECT set_capacity('weir 2', 1) ->> 'outcome' AS outcome;
SELECT facts(answer) - 'after' AS answer
  FROM claim_period('weir 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', after => begin_key('weir order 1', 'h1')) AS answer;
SELECT facts(answer) - 'after' AS answer
  FROM claim_period('weir 1', 'h2', '2031-01-02T09:30Z', '2031-01-02T10:30Z', after => begin_key('weir order 2', 'h2')) AS answer;
SELECT facts(answer) - 'after' AS answer FROM claim_units('weir 2', 'h1', after => begin_key('weir order 3', 'h1')) AS answer;
SELECT facts(answer) - 'after' AS answer FROM claim_units('weir 2', 'h2', after => begin_key('weir order 4', 'h2')) AS answer;
-- A key that says no: nothing is claimed.
SELECT facts(answer) - 'after' AS answer, answer #>> '{after,outcome}' AS after
  FROM claim_period('weir 1', 'h3', '2031-01-02T11:00Z', '2031-01-02T12:00Z', after => begin_key('weir order 1', 'h3')) AS answer;
SELECT facts(answer) - 'after' AS answer FROM claim_units('weir 2', 'h3', 2, after => '{"ok": false}') AS answer;
SELECT key, status, holder FROM claims.keys WHERE key LIKE 'weir order _' ORDER BY key;

-- Confirmed and finished as one.
SELECT finish_key('weir order 1', 'h1', 1, '{"event": "e1"}', after => confirm_slot('weir 1', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT finish_key('weir order 3', 'h1', 1, '{"order": 3}', after => confirm_many('[{"slot_id": "weir 2", "token": 1}]', 'h1')) ->> 'outcome' AS outcome;
SELECT key, status FROM claims.keys WHERE key IN ('weir order 1', 'weir order 3') ORDER BY key;
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id LIKE 'weir _' ORDER BY 1, 2;
