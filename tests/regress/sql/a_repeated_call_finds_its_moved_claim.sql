-- A claim is made, its answer is lost, and it is moved: the repetition of the very call gets
-- that claim, where it is now, and not a second one.
SELECT claim_period('quayside 1', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z', call_id => 'c1') ->> 'token' AS token;
SELECT move_period('quayside 1', 'h1', 1, '2031-01-02T14:00Z', '2031-01-02T15:00Z') ->> 'token' AS token;
SELECT facts(claim_period('quayside 1', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z', call_id => 'c1')) - 'ttl_ms' AS answer;
SELECT confirm_slot('quayside 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(claim_period('quayside 1', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z', call_id => 'c1')) - 'ttl_ms' AS answer;
SELECT count(*) FROM claims.active WHERE slot_id = 'quayside 1';

-- A replayed begin_key is no beginning: the refusal of its repetition leaves the key alone.
SELECT claim_slot('quayside 2', 'h1', after => begin_key('evt quayside', 'h1', call_id => 'c2')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('quayside 2', 'h1', after => begin_key('evt quayside', 'h1', call_id => 'c2'))) - 'after' AS answer;
SELECT check_key('evt quayside') ->> 'outcome' AS outcome;

-- A long remark is cut, and never refused.
SELECT release_slot('quayside 2', 'h1', 1, repeat('é', 9000)) ->> 'outcome' AS outcome;
SELECT octet_length(reason) FROM claims.history WHERE slot_id = 'quayside 2';

-- One broken part of a name is as bad as the whole.
SELECT claim_slot('quayside 3', 'undefined:undefined');
SELECT claim_slot('quayside 3', '7:null');
