--
-- holds_slot and require_slot fence a statement of the user's own: it acts only
-- while the claim is held, and the claim cannot change hands before its
-- transaction ends.
--
CREATE TABLE bookings (slot text, who text);

SELECT facts(claim_slot('ring 1', 'h1', '1 hour'));
INSERT INTO bookings SELECT 'ring 1', 'h1' WHERE holds_slot('ring 1', 'h1', 1) RETURNING *;
INSERT INTO bookings SELECT 'ring 1', 'h2' WHERE holds_slot('ring 1', 'h2', 1) RETURNING *;
INSERT INTO bookings SELECT 'ring 1', 'h1' WHERE holds_slot('ring 1', 'h1', 2) RETURNING *;
INSERT INTO bookings SELECT 'ring 1', 'h1' WHERE require_slot('ring 1', 'h1') RETURNING *;

-- It fails with an error, where zero rows would not be noticed.
INSERT INTO bookings SELECT 'ring 1', 'h2' WHERE require_slot('ring 1', 'h2', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT require_slot('ring 1', 'h1', 2);
SELECT require_slot('ring 2', 'h1');

-- A booked claim is not held any more: a second run inserts nothing. Booking
-- and confirming in one transaction.
BEGIN;
SELECT facts(claim_slot('ring 3', 'h1', '1 hour'));
INSERT INTO bookings SELECT 'ring 3', 'h1' WHERE holds_slot('ring 3', 'h1', 1) RETURNING *;
SELECT facts(confirm_slot('ring 3', 'h1', 1));
INSERT INTO bookings SELECT 'ring 3', 'h1' WHERE holds_slot('ring 3', 'h1', 1) RETURNING *;
COMMIT;
INSERT INTO bookings SELECT 'ring 3', 'h1' WHERE holds_slot('ring 3', 'h1', 1) RETURNING *;
SELECT require_slot('ring 3', 'h1', 1);

-- An expired claim is not held, nor is one in review, or one that was released.
SELECT expired_claim('ring 4', 'h1');
SELECT holds_slot('ring 4', 'h1', 1), holds_slot('ring 4', 'h1');
SELECT require_slot('ring 4', 'h1', 1);
SELECT facts(claim_slot('ring 5', 'h1', '1 hour'));
SELECT facts(release_slot('ring 5', 'h1', in_doubt => true));
SELECT holds_slot('ring 5', 'h1', 1);
SELECT facts(claim_slot('ring 6', 'h1', '1 hour'));
SELECT facts(release_slot('ring 6', 'h1'));
SELECT holds_slot('ring 6', 'h1', 1), holds_slot('ring 7', 'h1', 1);

-- Never NULL.
SELECT holds_slot('ring 6', 'h1', NULL) IS NULL AS is_null;

SELECT * FROM bookings ORDER BY slot, who;
DROP TABLE bookings;
