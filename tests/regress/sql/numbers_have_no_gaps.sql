--
-- Numbers follow each other without a gap: a rollback takes the number back and the next
-- call gets it (case 25), and no two documents get the same (case 24).
--
SELECT facts(create_series('invoice 1', label => 'INV-{n:05}'));
SELECT facts(answer) - 'issued_at' FROM next_number('invoice 1', 'h1') AS answer;
SELECT facts(answer) - 'issued_at' FROM next_number('invoice 1', 'h1') AS answer;

-- Two hundred of them, each once.
WITH issued AS MATERIALIZED (SELECT (next_number('invoice 1', 'h1') ->> 'number')::bigint AS number FROM generate_series(1, 200))
SELECT count(DISTINCT number), min(number), max(number) FROM issued;

-- Rolled back, as a whole or to a savepoint.
BEGIN;
SELECT next_number('invoice 1', 'h1', 'order 1') ->> 'number' AS number, next_number('invoice 1', 'h1') ->> 'number' AS number;
ROLLBACK;
SELECT next_number('invoice 1', 'h2', 'order 2') ->> 'number' AS number;
BEGIN;
SAVEPOINT s;
SELECT next_number('invoice 1', 'h1', 'order 3') ->> 'number' AS number;
ROLLBACK TO s;
SELECT next_number('invoice 1', 'h1', 'order 4') ->> 'number' AS number;
COMMIT;
SELECT next_number('invoice 1', 'h1', 'order 5') ->> 'number' AS number;
SELECT number, label, status, holder, key FROM claims.numbers WHERE series = 'invoice 1' AND number > 202 ORDER BY number;

-- A document that fails takes its number along, and the next gets it.
CREATE TEMP TABLE document (number bigint PRIMARY KEY, total int CHECK (total > 0));
INSERT INTO document SELECT (next_number('invoice 1', 'h1') ->> 'number')::bigint, -1;
INSERT INTO document SELECT (next_number('invoice 1', 'h1') ->> 'number')::bigint, 100 RETURNING number;

-- By a query of its own.
SELECT count(*) = max(number) - min(number) + 1 AS contiguous, min(number), max(number) FROM claims.numbers WHERE series = 'invoice 1';
SELECT series, first, span, last FROM claims.series WHERE series = 'invoice 1';

-- Another series counts for itself, from where it was told to; a series may be named by a number.
SELECT facts(create_series('invoice 2', 1000));
SELECT next_number('invoice 2', 'h1') ->> 'label' AS label, next_number('invoice 2', 'h1') ->> 'label' AS label;
SELECT facts(create_series('invoice 3', 0)) ->> 'outcome' AS outcome, next_number('invoice 3', 'h1') ->> 'number' AS number;
-- The greatest number there is, and no further.
SELECT create_series('invoice 7', 9223372036854775807) ->> 'outcome' AS outcome, next_number('invoice 7', 'h1') ->> 'number' AS number;
SELECT next_number('invoice 7', 'h1');
\echo :LAST_ERROR_SQLSTATE
SELECT number FROM claims.numbers WHERE series = 'invoice 7';
SELECT facts(create_series(2031)) ->> 'outcome' AS outcome;
SELECT next_number(2031, 'h1') ->> 'number' AS number, next_number('2031', 'h1') ->> 'number' AS number;
SELECT facts(check_claims());
