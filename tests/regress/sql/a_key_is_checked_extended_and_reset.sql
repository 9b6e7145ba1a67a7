--
-- check_key says what begin_key would find (case 12: one that nobody knows as
-- well), extend_key makes the lease longer, reset_key lets it run again.
--
SELECT facts(check_key('case 12'));
SELECT facts(begin_key('crate 1', 'h1', lease => '10 minutes'));
SELECT facts(check_key('crate 1'));

SELECT facts(extend_key('crate 1', 'h1', 1, '1 hour'));
SELECT facts(extend_key('crate 1', 'h1', lease => '1 ms')) ->> 'outcome' AS outcome;
SELECT lease_expires_at - clock_timestamp() BETWEEN '59 min' AND '1 hour' AS an_hour FROM claims.keys WHERE key = 'crate 1';
SELECT facts(extend_key('crate 1', 'h2', 1));
SELECT facts(extend_key('crate 1', 'h1', 2));
SELECT facts(extend_key('crate 2', 'h1', 1));
SELECT facts(finish_key('crate 1', 'h1', 1, '{"n": 1}'));
SELECT facts(extend_key('crate 1', 'h1', 1));

-- case 27: a cached failure was replayed for ever. A person resets it, the row
-- stays, and a zombie's token is void.
SELECT facts(begin_key('case 27', 'h1'));
SELECT facts(finish_key('case 27', 'h1', 1, '{"why": "declined"}', 'rejected'));
SELECT facts(begin_key('case 27', 'h2'));
SELECT facts(reset_key('case 27', 'desk', 'card replaced'));
SELECT facts(check_key('case 27'));
SELECT facts(finish_key('case 27', 'h1', 1, '{"charge": "ch_1"}'));
SELECT facts(begin_key('case 27', 'h2'));
SELECT facts(finish_key('case 27', 'h1', 1, '{"charge": "ch_1"}'));
SELECT facts(reset_key('crate 3', 'desk'));

-- While somebody is at it.
SELECT facts(begin_key('crate 4', 'h1', lease => '1 hour'));
SELECT facts(reset_key('crate 4', 'desk'));
SELECT facts(finish_key('crate 4', 'h1', 1));
SELECT facts(extend_key('crate 4', 'h1', 1));
SELECT facts(begin_key('crate 4', 'h2'));
