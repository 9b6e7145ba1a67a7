--
-- case 11: zero rows were taken for success. Every function answers exactly
-- one row on every path, called as SELECT f() and as SELECT * FROM f().
--
CREATE TABLE calls (n int GENERATED ALWAYS AS IDENTITY, call text);
INSERT INTO calls (call) VALUES
  ($$claim_slot('case 11', 'h1', '1 hour')$$),
  ($$claim_slot('case 11', 'h1')$$),
  ($$claim_slot('case 11', 'h2')$$),
  ($$claim_slot('case 11', 'h2', after => '{"ok": false}')$$),
  ($$extend_slot('case 11', 'h1', 1)$$),
  ($$extend_slot('case 11', 'h2', 1)$$),
  ($$release_slot('case 11', 'h2', 1)$$),
  ($$cancel_slot('case 11', 'h2', 1)$$),
  ($$resolve_slot('case 11', 'h1', 1, 'booked')$$),
  ($$resolve_slot('case 11', 'h2', 1, 'booked')$$),
  ($$confirm_slot('case 11', 'h2', 1)$$),
  ($$check_slot('case 11')$$),
  ($$confirm_slot('case 11', 'h1', 1)$$),
  ($$confirm_slot('case 11', 'h1', 1)$$),
  ($$release_slot('case 11', 'h1', 1)$$),
  ($$check_slot('case 11')$$),
  ($$cancel_slot('case 11', 'h1', 1)$$),
  ($$cancel_slot('case 11', 'h1', 1)$$),
  ($$cancel_slot('case 11 never', 'h1', 1)$$),
  ($$check_slot('case 11')$$),
  ($$check_slot('case 11 never')$$),
  ($$confirm_slot('case 11 never', 'h1')$$),
  ($$release_slot('case 11 never', 'h1')$$),
  ($$extend_slot('case 11 never', 'h1')$$),
  ($$resolve_slot('case 11 never', 'h1', 1, 'released')$$),
  ($$release_holder('h of case 11')$$),
  ($$release_holder(NULL)$$),
  ($$holds_slot('case 11', 'h1')$$),
  ($$holds_slot('case 11 never', 'h1', 1)$$);

CREATE FUNCTION rows_of(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
BEGIN
  EXECUTE statement;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END
$$;

SELECT call, rows_of('SELECT ' || call) AS selected, rows_of('SELECT * FROM ' || call) AS from_clause
  FROM calls ORDER BY n;

DROP TABLE calls;
DROP FUNCTION rows_of;
