--
-- A pending key is never freed by time: when its lease is over its outcome is
-- unknown, and the next caller is told to find out. It is no "go on", and the
-- lease is now the caller's alone (cases 8 and 26).
--
SELECT facts(begin_key('case 8', 'h1', lease => '1 ms'));
SELECT pg_sleep(0.02);
SELECT facts(check_key('case 8'));
SELECT facts(begin_key('case 8', 'h2', lease => '1 hour'));
SELECT begin_key('case 8', 'h3') ->> 'outcome' AS outcome;

-- Whoever lost the lease cannot finish, and the other's result stands.
SELECT facts(finish_key('case 8', 'h1', 1, '{"charge": "ch_1"}'));
SELECT facts(finish_key('case 8', 'h2', 2, '{"charge": "ch_1", "found": true}'));
SELECT facts(finish_key('case 8', 'h1', 1, '{"charge": "ch_9"}'));
SELECT facts(begin_key('case 8', 'h1'));

-- Nobody was let in meanwhile: who comes back after its lease does finish.
SELECT facts(begin_key('parcel 1', 'h1', lease => '1 ms'));
SELECT pg_sleep(0.02);
SELECT facts(finish_key('parcel 1', 'h1', 1, '{"sent": true}'));
SELECT facts(begin_key('parcel 1', 'h2'));

-- Orphaned: verified by one after the other, each with a token of its own, and
-- still not run a second time.
SELECT facts(begin_key('case 26', 'h1', lease => '1 ms'));
SELECT pg_sleep(0.02);
SELECT facts(begin_key('case 26', 'h2', lease => '1 ms'));
SELECT pg_sleep(0.02);
SELECT facts(begin_key('case 26', 'h3', lease => '1 hour'));
SELECT facts(finish_key('case 26', 'h3', 3, '{"found": false}', 'failed'));
SELECT facts(begin_key('case 26', 'h4'));

-- Unknown ends the lease: the next one verifies at once.
SELECT facts(begin_key('parcel 2', 'h1', lease => '1 hour'));
SELECT facts(finish_key('parcel 2', 'h1', 1, NULL, 'unknown')) ->> 'outcome' AS outcome;
SELECT facts(check_key('parcel 2')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('parcel 2', 'h2')) ->> 'outcome' AS outcome;
SELECT begin_key('parcel 3', 'h1', lease => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT begin_key('parcel 3', 'h2') ->> 'message' AS message;
