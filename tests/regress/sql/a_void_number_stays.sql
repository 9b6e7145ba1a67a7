--
-- A number that is not used is kept as void and never issued again (case 25): the
-- gap has a reason that can be shown.
--
SELECT create_series('invoice 6', label => 'INV-{n:03}') ->> 'outcome' AS outcome;
SELECT next_number('invoice 6', 'h1', 'order 1') ->> 'number' AS number, next_number('invoice 6', 'h1', 'order 2') ->> 'number' AS number;
SELECT facts(void_number('invoice 6', 2, 'draft abandoned'));
SELECT facts(void_number('invoice 6', 2, 'another reason'));
SELECT next_number('invoice 6', 'h1', 'order 3') ->> 'number' AS number;
SELECT facts(void_number('invoice 6', 1));
SELECT number, label, status, key, reason, void_at >= issued_at AS void FROM claims.numbers WHERE series = 'invoice 6' ORDER BY number;

-- Not one that nobody has.
SELECT facts(void_number('invoice 6', 4));
SELECT facts(void_number('invoice 6', 0));
SELECT facts(void_number('invoice 6', -1));
SELECT facts(void_number('invoice 6', 3, span => '2031'));
SELECT facts(void_number('no such invoice', 1));
SELECT void_number('invoice 6', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT state, message FROM refusal($$SELECT void_number('undefined', 1)$$);

-- Rolled back it is valid again.
BEGIN;
SELECT void_number('invoice 6', 3) ->> 'outcome' AS outcome;
ROLLBACK;
SELECT status FROM claims.numbers WHERE series = 'invoice 6' AND number = 3;

-- The highest, void, is not issued again either.
SELECT void_number('invoice 6', 3) ->> 'outcome' AS outcome, next_number('invoice 6', 'h1') ->> 'number' AS number;
SELECT facts(check_claims());
