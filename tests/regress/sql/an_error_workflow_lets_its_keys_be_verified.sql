--
-- release_holder ends the leases of a dead run's pending keys: nothing is known
-- of them, so that the next caller verifies at once. What is finished stays.
--
SELECT facts(begin_key('fuse 1', 'run of fuses', lease => '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('fuse 2', 'run of fuses', lease => '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(finish_key('fuse 2', 'run of fuses', 1, '{"n": 2}')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('fuse 3', 'another run', lease => '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('fuse 1', 'run of fuses', '1 hour')) ->> 'outcome' AS outcome;

SELECT facts(release_holder('run of fuses', 'crashed'));
SELECT facts(begin_key('fuse 1', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('fuse 2', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('fuse 3', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(check_slot('fuse 1')) ->> 'outcome' AS outcome;
SELECT facts(release_holder('run of fuses'));
