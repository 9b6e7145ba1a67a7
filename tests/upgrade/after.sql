-- What 0.1.0 wrote lives on: its tokens, its holders and what its calls were promised, and a
-- role that was let in may call what is new. Prints what is otherwise.
\ir outcome.sql
\pset tuples_only on

SET ROLE upgrade_n8n;
CREATE TEMPORARY TABLE call (place serial, call text, outcome text);
INSERT INTO call (call, outcome) VALUES
    ($$check_claims()$$, 'sound'),
    -- Claims: nobody is let in who was not, and nobody is turned out.
    ($$claim_slot('active', 'run-20')$$, 'taken'),
    ($$claim_slot('active', 'run-1', call_id => 'run-1:0:0')$$, 'claimed 1'),
    ($$claim_slot('booked', 'run-20')$$, 'taken'),
    ($$claim_slot('review', 'run-20')$$, 'taken'),
    ($$claim_slot('in doubt', 'run-20')$$, 'taken'),
    ($$confirm_slot('active', 'run-1', 1)$$, 'confirmed 1'),
    ($$confirm_slot('booked', 'run-5', 1)$$, 'already_confirmed 1'),
    ($$confirm_slot('late', 'run-11', 1)$$, 'already_confirmed 2'),
    ($$confirm_slot('taken over', 'run-6', 1)$$, 'lost'),
    ($$extend_slot('taken over', 'run-7', 2)$$, 'extended 2'),
    ($$resolve_slot('in doubt', 'run-4', 1, 'released')$$, 'released 1'),
    ($$confirm_slot('review', 'run-3', 1)$$, 'confirmed_late 1'),
    -- A token is greater than every one before.
    ($$claim_slot('expired', 'run-20')$$, 'reclaimed 2'),
    ($$claim_slot('in doubt', 'run-20')$$, 'claimed 2'),
    ($$cancel_slot('resold', 'desk', 1)$$, 'already_cancelled 1'),
    ($$cancel_slot('resold', 'desk', 3)$$, 'cancelled 3'),
    ($$claim_slot('resold', 'run-20')$$, 'claimed 4'),
    -- Keys: what was done is not done again.
    ($$begin_key('pending', 'run-20', request => '{"order": 1}')$$, 'wait'),
    ($$begin_key('done', 'run-20', request => '{"order": 3}')$$, 'replay'),
    ($$begin_key('done', 'run-20', request => '{"order": 4}')$$, 'mismatch'),
    ($$begin_key('rejected', 'run-20')$$, 'replay'),
    ($$begin_key('overdue', 'run-20')$$, 'verify 2'),
    ($$begin_key('failed', 'run-20')$$, 'run 2'),
    ($$begin_key('reset', 'run-20')$$, 'run 3'),
    ($$finish_key('pending', 'run-1', 1)$$, 'done 1'),
    -- What is new works beside them.
    ($$claim_period('booked', 'run-20', '2030-01-02T09:00Z', '2030-01-02T10:00Z')$$, 'taken'),
    ($$claim_period('room', 'run-20', '2030-01-02T09:00Z', '2030-01-02T10:00Z')$$, 'claimed 1'),
    ($$set_capacity('stock', 2)$$, 'set'),
    ($$claim_units('stock', 'run-20', 2)$$, 'claimed 1'),
    ($$create_series('invoices')$$, 'created'),
    ($$next_number('invoices', 'run-20', 'order-1') ->> 'label'$$, '1'),
    ($$(SELECT count(*) FROM claims.row_history)$$, '0'),
    ($$reap_stale_claims()$$, 'reaped'),
    ($$check_claims()$$, 'sound');

SELECT call || ' answers ' || got || ' instead of ' || outcome
FROM (SELECT call, outcome, pg_temp.outcome(call) AS got FROM call ORDER BY place) AS made
WHERE got IS DISTINCT FROM outcome;
