--
-- claim_slot(…, after => begin_key(…)) begins and claims, or does neither: a
-- refused claim leaves its key runnable. finish_key(…, after => confirm_slot(…))
-- finishes only what was confirmed.
--
SELECT facts(claim_slot('plot 1', 'h1', '1 hour', after => begin_key('plot evt 1', 'h1')));
SELECT facts(finish_key('plot evt 1', 'h1', 1, '{"event": "e1"}', after => confirm_slot('plot 1', 'h1', 1)));
SELECT facts(check_key('plot evt 1'));

-- Resent: replayed, and nothing is claimed.
SELECT facts(claim_slot('plot 2', 'h2', after => begin_key('plot evt 1', 'h2')));
SELECT facts(check_slot('plot 2'));

-- Taken: the key may run again, for another slot.
SELECT facts(claim_slot('plot 1', 'h2', after => begin_key('plot evt 2', 'h2')));
SELECT facts(check_key('plot evt 2'));
SELECT facts(claim_slot('plot 2', 'h2', '1 hour', after => begin_key('plot evt 2', 'h2')));

-- Somebody is at it: nothing is claimed, and his key is not closed.
SELECT facts(claim_slot('plot 3', 'h3', after => begin_key('plot evt 2', 'h3')));
SELECT facts(check_key('plot evt 2'));

-- To be verified: nothing is claimed.
SELECT begin_key('plot evt 3', 'h1', lease => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(claim_slot('plot 3', 'h3', after => begin_key('plot evt 3', 'h3', lease => '1 hour')));
SELECT facts(check_key('plot evt 3'));
SELECT facts(check_slot('plot 3'));

-- A confirm that was lost leaves its key unfinished.
SELECT expired_claim('plot 4', 'h1');
SELECT facts(begin_key('plot evt 4', 'h1', lease => '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('plot 4', 'h2', '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(finish_key('plot evt 4', 'h1', 1, '{"event": "e4"}', after => confirm_slot('plot 4', 'h1', 1)));
SELECT facts(check_key('plot evt 4'));

-- An error takes both back.
SELECT claim_slot('undefined', 'h1', after => begin_key('plot evt 5', 'h1'));
SELECT facts(check_key('plot evt 5'));

-- What comes after a refusal, or after nothing at all.
SELECT facts(finish_key('plot evt 4', 'h1', 1, after => '{"ok": false}')) ->> 'outcome' AS outcome;
SELECT state FROM refusal($$SELECT finish_key('plot evt 4', 'h1', 1, after => NULL)$$);
SELECT state FROM refusal($$SELECT finish_key('plot evt 4', 'h1', 1, after => '[true]')$$);
