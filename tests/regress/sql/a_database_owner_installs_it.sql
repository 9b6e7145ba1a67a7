--
-- The owner of a database, no superuser, installs the extension and all it
-- needs, calls it, reads its tables, and cannot write them either.
--
SELECT current_database() AS home \gset
CREATE ROLE regress_claims_owner;
CREATE ROLE regress_claims_friend;
CREATE DATABASE regress_claims_owned OWNER regress_claims_owner;
\c regress_claims_owned
SET SESSION AUTHORIZATION regress_claims_owner;

CREATE EXTENSION pg_claims CASCADE;
SELECT extname, extowner::regrole FROM pg_extension WHERE extname IN ('pg_claims', 'btree_gist') ORDER BY 1;

SELECT claim_slot('attic 1', 'h1', '1 hour') ->> 'outcome' AS outcome;
SELECT confirm_slot('attic 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT release_holder('h1') ->> 'outcome' AS outcome;
SELECT slot_id, token, holder, status FROM claims.slot_claims;
SELECT slot_id, token, holder, status FROM claims.active;
SELECT count(*) FROM claims.needs_check;
SELECT count(*) FROM claims.history;

UPDATE claims.slot_claims SET holder = 'h2';
DELETE FROM claims.slot_claims;
INSERT INTO claims.slot_claims (slot_id, token, holder, status, claimed_at, on_expiry)
VALUES ('attic 2', 1, 'h1', 'booked', now(), 'release');
TRUNCATE claims.slot_claims;
DELETE FROM claims.active;
CREATE TABLE claims.mine ();

-- It lets another in, and out.
SELECT claims.grant_access('regress_claims_friend');
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_claims_friend;
SELECT claim_slot('attic 1', 'h2') ->> 'outcome' AS outcome;
SELECT count(*) FROM claims.slot_claims;
SELECT claims.grant_access('regress_claims_friend');
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_claims_owner;
SELECT claims.revoke_access('regress_claims_friend');
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_claims_friend;
SELECT claim_slot('attic 1', 'h2');
RESET SESSION AUTHORIZATION;

-- It drops what it has installed, and nothing is left behind.
SET SESSION AUTHORIZATION regress_claims_owner;
DROP EXTENSION pg_claims;
SELECT count(*) FROM pg_namespace WHERE nspname = 'claims';

-- A schema that is there already is an error, not a place to be hijacked.
CREATE SCHEMA claims;
\set VERBOSITY terse
CREATE EXTENSION pg_claims;
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT count(*) FROM pg_extension WHERE extname = 'pg_claims';
DROP SCHEMA claims;

-- The functions may live in another schema than public, out of the search_path.
CREATE SCHEMA tools;
CREATE EXTENSION pg_claims SCHEMA tools;
SET search_path = pg_catalog;
SELECT tools.claim_slot('attic 1', 'h1', '1 hour') ->> 'outcome' AS outcome;
SELECT tools.confirm_slot('attic 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT tools.check_slot('attic 1') ->> 'outcome' AS outcome;
RESET search_path;
SELECT claims.grant_access('regress_claims_friend');
SELECT claims.revoke_access('regress_claims_friend');

RESET SESSION AUTHORIZATION;
\c :home
DROP DATABASE regress_claims_owned;
DROP ROLE regress_claims_friend;
DROP ROLE regress_claims_owner;
