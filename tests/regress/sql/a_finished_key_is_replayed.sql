--
-- Done, a key is never run again: whoever begins it gets the stored result, as
-- it was stored (case 7). What was rejected is final too, and said to be that.
--
SELECT facts(begin_key('case 7', 'h1'));
SELECT facts(finish_key('case 7', 'h1', 1, '{"charge": "ch_1", "amount": 12.50}'));
SELECT facts(begin_key('case 7', 'h2'));
SELECT facts(begin_key('case 7', 'h1'));
SELECT facts(check_key('case 7'));
SELECT (begin_key('case 7', 'h2') ->> 'finished_at')::timestamptz = finished_at AS says_when FROM claims.keys WHERE key = 'case 7';
SELECT key, status, holder, token, attempt, finished_by, result FROM claims.keys WHERE key = 'case 7';

SELECT facts(begin_key('order 2', 'h1'));
SELECT facts(finish_key('order 2', 'h1', 1, '{"why": "card declined"}', 'rejected'));
SELECT facts(begin_key('order 2', 'h2'));
SELECT begin_key('order 2', 'h2') ->> 'message' AS message;
SELECT facts(check_key('order 2'));

-- Digit for digit.
SELECT facts(begin_key('order 3', 'h1'));
SELECT facts(finish_key('order 3', 'h1', 1, '{"n": 12345678901234567890.10, "u": "\u00e9 \\ \" \n", "z": [null, {}, []]}'));
SELECT begin_key('order 3', 'h2') -> 'result' = '{"n": 12345678901234567890.10, "u": "\u00e9 \\ \" \n", "z": [null, {}, []]}' AS same,
       begin_key('order 3', 'h2') -> 'result' AS result;

-- Without a result.
SELECT facts(begin_key('order 4', 'h1'));
SELECT finish_key('order 4', 'h1', 1) ->> 'outcome' AS outcome;
SELECT begin_key('order 4', 'h2') ->> 'outcome' AS outcome;
