--
-- Whoever was let in finishes, once: the first result stands.
--
SELECT facts(begin_key('task 1', 'h1'));
SELECT facts(finish_key('task 1', 'h2', 1, '{"by": "h2"}'));
SELECT facts(finish_key('task 1', 'h1', 2, '{"by": "h1"}'));
SELECT facts(finish_key('task 1', 'h1', 1, '{"by": "h1"}'));
SELECT facts(finish_key('task 1', 'h1', 1, '{"by": "h1 again"}'));
SELECT facts(finish_key('task 1', 'h1', 1, '{"by": "h1 again"}', 'failed'));
SELECT facts(finish_key('task 1', 'h1', 1, NULL, 'unknown'));
SELECT facts(finish_key('task 1', 'h1', NULL));
SELECT status, result FROM claims.keys WHERE key = 'task 1';

SELECT facts(finish_key('task 2', 'h1', 1));

-- Without a token it is what the holder began last.
SELECT facts(begin_key('task 3', 'h1'));
SELECT facts(finish_key('task 3', 'h1', NULL, '{"ok": 1}'));
SELECT facts(finish_key('task 3', 'h2', NULL));

SELECT finish_key('task 3', 'h1', 1, NULL, 'finished');
\echo :LAST_ERROR_SQLSTATE
SELECT finish_key('task 3', 'h1', 1, NULL, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT facts(begin_key('task 4', 'h1'));
SELECT finish_key('task 4', 'h1', 1, to_jsonb(repeat('x', 1024 * 1024)));
\echo :LAST_ERROR_SQLSTATE
SELECT key, status, result FROM claims.keys WHERE key = 'task 4';
SELECT finish_key('task 4', 'h1', 1, to_jsonb(repeat('x', 1024 * 1024 - 2))) ->> 'outcome' AS outcome;
SELECT octet_length((begin_key('task 4', 'h2') -> 'result')::text) AS bytes;
