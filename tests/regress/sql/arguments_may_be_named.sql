--
-- Arguments go by position or by name, and none of the names needs quotes.
--
SELECT facts(claim_slot('booth 1', 'h1', '1 hour', '0', 'release', '{"a": 1}', 'call 1', '{"ok": true}'));
SELECT facts(claim_slot(slot_id => 'booth 2', holder => 'h1', ttl => '1 hour', wait => '0', on_expiry => 'review',
                        note => '{"a": 1}', call_id => 'call 1', after => '{"ok": true}'));
SELECT facts(claim_slot(call_id => 'call 1', holder => 'h1', slot_id => 3001, ttl => NULL));
SELECT facts(extend_slot(slot_id => 'booth 1', holder => 'h1', token => 1, ttl => '2 hours'));
SELECT facts(check_slot(slot_id => 'booth 1'));
SELECT holds_slot(slot_id => 'booth 1', holder => 'h1', token => 1),
       require_slot(slot_id => 'booth 1', holder => 'h1', token => 1);
SELECT facts(confirm_slot(slot_id => 'booth 1', holder => 'h1', token => 1, result => '{"event": "e1"}'));
SELECT facts(cancel_slot(slot_id => 'booth 1', holder => 'h1', token => 1, reason => 'ill'));
SELECT facts(release_slot(slot_id => 'booth 2', holder => 'h1', token => 1, reason => 'timeout', in_doubt => true));
SELECT facts(resolve_slot(slot_id => 'booth 2', holder => 'h1', token => 1, verdict => 'booked', evidence => '{"event": "e2"}'));
SELECT facts(release_holder(holder => 'nobody at the booths', reason => 'crashed')) ->> 'outcome' AS outcome;

-- All of them by position.
SELECT facts(claim_slot('booth 4', 'h1'));
SELECT facts(extend_slot('booth 4', 'h1', 1, '2 hours'));
SELECT facts(confirm_slot('booth 4', 'h1', 1, '{"event": "e4"}'));
SELECT facts(cancel_slot('booth 4', 'h1', 1, 'ill'));
SELECT facts(claim_slot('booth 4', 'h1'));
SELECT facts(release_slot('booth 4', 'h1', 2, 'timeout', true));
SELECT facts(resolve_slot('booth 4', 'h1', 2, 'released', '{"events": []}'));
SELECT facts(release_holder('nobody at the booths', 'crashed')) ->> 'outcome' AS outcome;

-- A name there is not is PostgreSQL's own error, and so is an argument too few.
\set VERBOSITY sqlstate
SELECT claim_slot('booth 5', 'h1', tll => '1 hour');
SELECT claim_slot('booth 5', 'h1', lease => '1 hour');
SELECT confirm_slot('booth 5', 'h1', tokens => 1);
SELECT claim_slot('booth 5');
SELECT cancel_slot('booth 5', 'h1');
SELECT resolve_slot('booth 5', 'h1', 1);
SELECT check_slot();
\set VERBOSITY default
SELECT * FROM claims_of('booth 5');
