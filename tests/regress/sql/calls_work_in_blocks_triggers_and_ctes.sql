--
-- A call works wherever an expression does.
--
DO $$
DECLARE
  answer jsonb;
BEGIN
  answer := claim_slot('berth 1', 'h1');
  RAISE NOTICE '%', facts(answer);
  RAISE NOTICE '%', facts(claim_slot('berth 1', 'h2'));
  RAISE NOTICE '%', facts(confirm_slot(answer->>'slot_id', answer->>'holder', (answer->>'token')::bigint));
END
$$;

-- An error that is caught undoes the block's claims, and the session goes on.
DO $$
BEGIN
  BEGIN
    PERFORM claim_slot('berth 2', 'h1');
    PERFORM claim_slot('', 'h1');
  EXCEPTION WHEN invalid_parameter_value THEN
    RAISE NOTICE 'caught: %', SQLERRM;
  END;
  RAISE NOTICE '%', facts(claim_slot('berth 2', 'h2'));
END
$$;

-- A trigger that books what is inserted, and another that claims by the way.
CREATE TABLE bookings (id int PRIMARY KEY, slot text, who text, token bigint);
CREATE FUNCTION claim_for_booking() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb := claim_slot(NEW.slot, NEW.who);
BEGIN
  IF NOT (answer->>'ok')::boolean THEN
    RAISE NOTICE 'not inserted: %', answer->>'outcome';
    RETURN NULL;
  END IF;
  NEW.token := answer->>'token';
  RETURN NEW;
END
$$;
CREATE FUNCTION confirm_booking() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '%', confirm_slot(NEW.slot, NEW.who, NEW.token) ->> 'outcome';
  RETURN NULL;
END
$$;
CREATE TRIGGER claim_it BEFORE INSERT ON bookings FOR EACH ROW EXECUTE FUNCTION claim_for_booking();
CREATE TRIGGER confirm_it AFTER INSERT ON bookings FOR EACH ROW EXECUTE FUNCTION confirm_booking();
INSERT INTO bookings VALUES (1, 'berth 3', 'h1'), (2, 'berth 3', 'h2'), (3, 'berth 4', 'h2');
SELECT * FROM bookings ORDER BY id;
DROP TABLE bookings;
DROP FUNCTION claim_for_booking, confirm_booking;

-- In a CTE, and one call on the answer of another.
WITH claimed AS MATERIALIZED (SELECT claim_slot('berth 5', 'h1') AS answer)
SELECT facts(answer), facts(confirm_slot(answer->>'slot_id', answer->>'holder', (answer->>'token')::bigint))
  FROM claimed;

WITH claimed AS (SELECT n, claim_slot('berth 6', 'h' || n) AS answer FROM generate_series(1, 3) AS n)
SELECT n, facts(answer) FROM claimed ORDER BY n;

-- In a function of SQL, and inside a transaction of several statements.
CREATE FUNCTION book(slot text, who text) RETURNS jsonb LANGUAGE sql AS $$
  SELECT claim_slot(slot, who);
  SELECT confirm_slot(slot, who);
$$;
BEGIN;
SELECT facts(book('berth 7', 'h1'));
SELECT facts(book('berth 7', 'h2'));
SELECT facts(cancel_slot('berth 7', 'h1', 1));
SELECT facts(book('berth 7', 'h2'));
COMMIT;
SELECT * FROM claims_of('berth 7');
DROP FUNCTION book;
