--
-- The same key gets the same number, whoever asks again and whatever became of it;
-- without a key every call gets another.
--
SELECT create_series('invoice 4') ->> 'outcome' AS outcome;
SELECT facts(answer) - 'issued_at' FROM next_number('invoice 4', 'h1', 'order 1', '{"total": 100}') AS answer;
SELECT facts(answer) - 'issued_at' FROM next_number('invoice 4', 'h1', 'order 1', '{"total": 200}') AS answer;
SELECT facts(answer) - 'issued_at' FROM next_number('invoice 4', 'h2', 'order 1') AS answer;
SELECT next_number('invoice 4', 'h1', 'order 2') ->> 'number' AS number;
SELECT next_number('invoice 4', 'h1') ->> 'number' AS number, next_number('invoice 4', 'h1', NULL) ->> 'number' AS number;
SELECT number, holder, key, note FROM claims.numbers WHERE series = 'invoice 4' ORDER BY number;

-- Issued when it was issued first.
SELECT (answer->>'issued_at')::timestamptz = issued_at AS the_first_time
  FROM next_number('invoice 4', 'h1', 'order 1') AS answer, claims.numbers WHERE series = 'invoice 4' AND number = 1;

-- A void number is told as such, and stays the key's.
SELECT void_number('invoice 4', 1, 'typing error') ->> 'outcome' AS outcome;
SELECT facts(answer) - 'issued_at' FROM next_number('invoice 4', 'h1', 'order 1') AS answer;

-- A key belongs to its series.
SELECT create_series('invoice 5') ->> 'outcome' AS outcome;
SELECT next_number('invoice 5', 'h1', 'order 1') ->> 'outcome' AS outcome;

-- Twice in one transaction, and after a rollback.
BEGIN;
SELECT next_number('invoice 5', 'h1', 'order 2') ->> 'outcome' AS outcome, next_number('invoice 5', 'h1', 'order 2') ->> 'outcome' AS outcome;
ROLLBACK;
SELECT next_number('invoice 5', 'h1', 'order 2') ->> 'outcome' AS outcome, next_number('invoice 5', 'h1', 'order 2') ->> 'number' AS number;

-- What a broken expression leaves behind is no key.
SELECT key, state, message FROM unnest(ARRAY['', ' ', 'undefined', 'null', '[object Object]', ' order 3', '"order 3"']) AS key,
       refusal(format('SELECT next_number(%L, %L, %L)', 'invoice 5', 'h1', key));
SELECT next_number('invoice 5', 'h1') ->> 'number' AS number;
