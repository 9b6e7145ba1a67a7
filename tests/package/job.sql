-- What the package is installed for, in a database of its own, by its ordinary owner and by n8n's role.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset format unaligned
\pset tuples_only on
SET ROLE shop;
CREATE EXTENSION pg_claims CASCADE;
SELECT 'version ' || extversion FROM pg_extension WHERE extname = 'pg_claims';
SELECT claims.grant_access('n8n') ->> 'outcome';
SET ROLE n8n;
SELECT 'superuser ' || current_setting('is_superuser');
SELECT claim_slot('room-1 15:00', 'run-1') ->> 'outcome';
SELECT claim_slot('room-1 15:00', 'run-2') ->> 'outcome';
SELECT confirm_slot('room-1 15:00', 'run-1', 1) ->> 'outcome';
SELECT claim_period('chair-1', 'run-1', '2030-01-02T09:00Z', '2030-01-02T10:00Z') ->> 'outcome';
SELECT begin_key('evt-1', 'run-1') ->> 'outcome';
SELECT finish_key('evt-1', 'run-1', 1, result => '{"charge": "ch-1"}') ->> 'outcome';
SELECT begin_key('evt-1', 'run-2') #>> '{result,charge}';
SELECT check_claims() ->> 'outcome';
