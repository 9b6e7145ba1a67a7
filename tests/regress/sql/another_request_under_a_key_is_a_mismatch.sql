--
-- case 28: the same key with another request got a stale answer, and the order
-- of the fields changed the hash. Here the request is compared as JSON, and a
-- mismatch does not give the stored result away.
--
SELECT facts(begin_key('case 28', 'h1', '{"a": 1, "b": 2}'));
SELECT facts(finish_key('case 28', 'h1', 1, '{"secret": true}'));
SELECT facts(begin_key('case 28', 'h2', '{"b": 2, "a": 1}'));
SELECT facts(begin_key('case 28', 'h2', '{"b": 2.00, "a": 1}')) ->> 'outcome' AS equal_numbers;
SELECT facts(begin_key('case 28', 'h2', '{"a": 1, "c": 2}'));
SELECT facts(begin_key('case 28', 'h2', '{"a": 1, "b": "2"}')) ->> 'outcome' AS another_type;
SELECT begin_key('case 28', 'h2', '{"a": 1}') ->> 'message' AS message;

-- NULL compares with nothing.
SELECT facts(begin_key('case 28', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('letter 1', 'h1')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('letter 1', 'h2', '{"a": 1}')) ->> 'outcome' AS outcome;

-- While it is pending, too.
SELECT facts(begin_key('letter 2', 'h1', '{"a": 1}', '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(begin_key('letter 2', 'h2', '{"a": 2}'));
SELECT facts(begin_key('letter 2', 'h2', '{"a": 1}')) ->> 'outcome' AS outcome;
SELECT key, status, holder, token FROM claims.keys WHERE key = 'letter 2';
