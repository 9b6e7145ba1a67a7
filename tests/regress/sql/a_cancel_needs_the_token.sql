--
-- Whoever cancels is somebody else than the holder, so that only the token says
-- which booking is meant: it cannot be NULL. Every other call can do without.
--
SELECT facts(claim_slot('ramp 1', 'h1'));
SELECT facts(confirm_slot('ramp 1', 'h1'));
SELECT cancel_slot('ramp 1', 'h1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT cancel_slot('ramp 1', 'h1', NULL, 'ill');
SELECT * FROM claims_of('ramp 1');

SELECT facts(claim_slot('ramp 2', 'h1'));
SELECT facts(extend_slot('ramp 2', 'h1', NULL));
SELECT holds_slot('ramp 2', 'h1', NULL), require_slot('ramp 2', 'h1', NULL);
SELECT facts(release_slot('ramp 2', 'h1', NULL, in_doubt => true));
SELECT facts(resolve_slot('ramp 2', 'h2', NULL, 'booked'));
SELECT facts(resolve_slot('ramp 2', 'h1', NULL, 'booked'));
SELECT facts(confirm_slot('ramp 2', 'h1', NULL));
SELECT facts(release_slot('ramp 2', 'h1', NULL));
SELECT * FROM claims_of('ramp 2');
