--
-- Where one of two words is expected, another is refused, and the HINT names
-- the two.
--
SELECT count(*) AS before FROM claims.slot_claims \gset

SELECT claim_slot('stage 1', 'h1', on_expiry => 'book');
\echo :LAST_ERROR_SQLSTATE
SELECT claim_slot('stage 1', 'h1', on_expiry => 'Release');
SELECT claim_slot('stage 1', 'h1', on_expiry => NULL);
\echo :LAST_ERROR_SQLSTATE

SELECT resolve_slot('stage 1', 'h1', 1, 'yes');
\echo :LAST_ERROR_SQLSTATE
SELECT resolve_slot('stage 1', 'h1', 1, NULL);
\echo :LAST_ERROR_SQLSTATE

-- Also where the claim is in review and everything else is right.
SELECT facts(claim_slot('stage 2', 'h1'));
SELECT facts(release_slot('stage 2', 'h1', 1, in_doubt => true));
SELECT state, message
  FROM unnest(ARRAY['confirmed', 'free', 'BOOKED', '', ' booked']) AS verdict,
       refusal(format('SELECT resolve_slot(%L, %L, 1, %L)', 'stage 2', 'h1', verdict));
SELECT * FROM claims_of('stage 2');

SELECT count(*) - :before AS written FROM claims.slot_claims;
