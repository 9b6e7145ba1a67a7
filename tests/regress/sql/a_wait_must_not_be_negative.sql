--
-- A wait is zero or more. A long one is cut to a minute without ado.
--
SELECT claim_slot('pool 1', 'h1', wait => '-1 second');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM claims_of('pool 1');

SELECT facts(claim_slot('pool 1', 'h1', wait => '3 hours'));
SELECT facts(claim_slot('pool 2', 'h1', wait => '1 month'));
