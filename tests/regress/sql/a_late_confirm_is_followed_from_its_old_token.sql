--
-- The run that confirmed late goes on with the token it had. Confirm, release,
-- cancel and check of that token follow it to the row that was booked for it,
-- so that a repeated confirm is no second booking and no refund.
--
SELECT facts(claim_slot('loft 1', 'h1'));
SELECT facts(release_slot('loft 1', 'h1', 1));
SELECT facts(confirm_slot('loft 1', 'h1', 1));

SELECT facts(confirm_slot('loft 1', 'h1', 1));
SELECT facts(confirm_slot('loft 1', 'h1'));
SELECT facts(confirm_slot('loft 1', 'h1', 2));
SELECT facts(release_slot('loft 1', 'h1', 1));
SELECT facts(extend_slot('loft 1', 'h1', 1));
SELECT facts(check_slot('loft 1'));
SELECT * FROM claims_of('loft 1');

-- Cancelled by the old token, and again; then it is the next customer's.
SELECT facts(cancel_slot('loft 1', 'desk', 1));
SELECT facts(cancel_slot('loft 1', 'desk', 1));
SELECT facts(cancel_slot('loft 1', 'desk', 2));
SELECT facts(confirm_slot('loft 1', 'h1', 1));
SELECT facts(claim_slot('loft 1', 'h2', '1 hour'));
SELECT facts(confirm_slot('loft 1', 'h2', 3));
SELECT cancel_slot('loft 1', 'desk', 1) -> 'ok' AS ok, cancel_slot('loft 1', 'desk', 2) -> 'ok' AS ok;
SELECT facts(check_slot('loft 1'));
SELECT * FROM claims_of('loft 1');
