--
-- A role that was not let in can do nothing. claims.grant_access lets it call
-- and read, and never write the tables; claims.revoke_access ends that.
--
CREATE ROLE regress_claims_guest;
SELECT facts(claim_slot('safe 1', 'h1', '1 hour'));

SET ROLE regress_claims_guest;
SELECT claim_slot('safe 1', 'h2');
\echo :LAST_ERROR_SQLSTATE
SELECT check_slot('safe 1');
SELECT * FROM claims.slot_claims;
\echo :LAST_ERROR_SQLSTATE
SELECT state, message
  FROM unnest(ARRAY[
    $$SELECT confirm_slot('safe 1', 'h1', 1)$$, $$SELECT release_slot('safe 1', 'h1', 1)$$, $$SELECT extend_slot('safe 1', 'h1', 1)$$,
    $$SELECT cancel_slot('safe 1', 'h1', 1)$$, $$SELECT resolve_slot('safe 1', 'h1', 1, 'booked')$$,
    $$SELECT holds_slot('safe 1', 'h1', 1)$$, $$SELECT require_slot('safe 1', 'h1', 1)$$, $$SELECT release_holder('h1')$$,
    $$SELECT claims.grant_access('regress_claims_guest')$$, $$SELECT claims.revoke_access('regress_claims_guest')$$]) AS statement,
       refusal(statement);
RESET ROLE;

-- Let in.
SELECT claims.grant_access('regress_claims_guest');
SELECT claims.grant_access('regress_claims_guest');
SET ROLE regress_claims_guest;
SELECT facts(claim_slot('safe 1', 'h2'));
SELECT facts(claim_slot('safe 2', 'h2', '1 hour'));
SELECT facts(extend_slot('safe 2', 'h2', 1, '2 hours'));
SELECT holds_slot('safe 2', 'h2', 1), require_slot('safe 2', 'h2', 1);
SELECT facts(confirm_slot('safe 2', 'h2', 1));
SELECT facts(cancel_slot('safe 2', 'h2', 1));
SELECT facts(check_slot('safe 2'));
SELECT facts(release_holder('h of no safe')) ->> 'outcome' AS outcome;
SELECT slot_id, token, holder, status FROM claims.slot_claims WHERE slot_id LIKE 'safe _' ORDER BY 1, 2;
SELECT slot_id FROM claims.active WHERE slot_id LIKE 'safe _' ORDER BY 1;
SELECT slot_id FROM claims.needs_check WHERE slot_id LIKE 'safe _' ORDER BY 1;
SELECT slot_id FROM claims.history WHERE slot_id LIKE 'safe _' ORDER BY 1;

-- Let in, and no further.
SELECT state, message
  FROM unnest(ARRAY[
    $$INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry) VALUES ('safe 3', 1, 'h2', 'booked', now(), 'release')$$,
    $$UPDATE claims.slot_claims SET holder = 'h2'$$, $$DELETE FROM claims.slot_claims$$, $$TRUNCATE claims.slot_claims$$,
    $$DELETE FROM claims.active$$, $$UPDATE claims.needs_check SET holder = 'h2'$$, $$DELETE FROM claims.history$$,
    $$SELECT * FROM claims.slot_claims FOR UPDATE$$, $$CREATE TABLE claims.mine ()$$,
    $$SELECT claims.grant_access('public')$$, $$SELECT claims.grant_access('regress_claims_guest')$$]) AS statement,
       refusal(statement);

-- What the caller puts into its way changes nothing: the functions see neither
-- its schemas nor its temporary tables.
CREATE TEMP TABLE slot_claims (slot_id text, token bigint);
CREATE TEMP TABLE pg_class (relname text);
SET search_path = pg_temp, public;
SELECT facts(public.claim_slot('safe 4', 'h2', '1 hour'));
SELECT * FROM slot_claims;
RESET search_path;
DROP TABLE pg_temp.slot_claims, pg_temp.pg_class;
RESET ROLE;

-- Out again.
SELECT claims.revoke_access('regress_claims_guest');
SET ROLE regress_claims_guest;
SELECT claim_slot('safe 1', 'h2');
SELECT * FROM claims.slot_claims;
RESET ROLE;

-- There must be such a role.
SELECT claims.grant_access('regress_claims_nobody');
\echo :LAST_ERROR_SQLSTATE
SELECT claims.revoke_access('regress_claims_nobody');

-- Nothing is left of it.
DROP ROLE regress_claims_guest;
