--
-- What is kept with a claim comes back in answers: at most 1 MB of JSON. It
-- comes back digit for digit.
--
SELECT count(*) AS before FROM claims.slot_claims \gset
SELECT claim_slot('scale 1', 'h1', note => to_jsonb(repeat('x', 1024 * 1024)));
\echo :LAST_ERROR_SQLSTATE
SELECT facts(claim_slot('scale 2', 'h1'));
SELECT confirm_slot('scale 2', 'h1', 1, to_jsonb(repeat('x', 1024 * 1024)));
\echo :LAST_ERROR_SQLSTATE
SELECT facts(release_slot('scale 2', 'h1', 1, in_doubt => true));
SELECT resolve_slot('scale 2', 'h1', 1, 'booked', to_jsonb(repeat('x', 1024 * 1024)));
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM claims_of('scale 2');
SELECT count(*) - :before AS written FROM claims.slot_claims;

-- With its quotes that is 1 MB and no more.
SELECT facts(claim_slot('scale 3', 'h1', note => to_jsonb(repeat('x', 1024 * 1024 - 2))));
SELECT octet_length(note::text) FROM claims.slot_claims WHERE slot_id = 'scale 3';

SELECT facts(claim_slot('scale 4', 'h1'));
SELECT confirm_slot('scale 4', 'h1', 1, '{"n": 12345678901234567890.10, "e": 1e3, "u": "\u00e9 \\ \" \n", "z": [null, {}, []]}') -> 'result' AS result;
SELECT confirm_slot('scale 4', 'h1', 1) -> 'result' AS result;
SELECT result FROM claims.slot_claims WHERE slot_id = 'scale 4';

-- JSON's own null is a value like any other.
SELECT facts(claim_slot('scale 5', 'h1', note => 'null'));
SELECT note, note IS NULL AS none FROM claims.slot_claims WHERE slot_id = 'scale 5';
