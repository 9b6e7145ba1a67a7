-- The library is new and the extension still 0.1.0, as between the installation of a package
-- and ALTER EXTENSION UPDATE. Each function of 0.1.0 does what it did; check_claims, which looks
-- at every table, says what to do first. Prints what is otherwise.
\ir outcome.sql
\pset tuples_only on

CREATE TEMPORARY TABLE call (call text, outcome text);
INSERT INTO call VALUES
    ($$claim_slot('new', 'run-20')$$, 'claimed 1'),
    ($$claim_slot('active', 'run-20')$$, 'taken'),
    ($$claim_slot('expired', 'run-20')$$, 'reclaimed 2'),
    ($$check_slot('booked')$$, 'booked 1'),
    ($$extend_slot('active', 'run-1', 1)$$, 'extended 1'),
    ($$holds_slot('active', 'run-1', 1)$$, 'true'),
    ($$require_slot('active', 'run-1', 1)$$, 'true'),
    ($$confirm_slot('active', 'run-1', 1)$$, 'confirmed 1'),
    ($$cancel_slot('active', 'desk', 1)$$, 'cancelled 1'),
    ($$release_slot('taken over', 'run-7', 2)$$, 'released 2'),
    ($$resolve_slot('in doubt', 'run-4', 1, 'booked')$$, 'booked 1'),
    ($$release_holder('run-3')$$, 'released'),
    ($$begin_key('new', 'run-20')$$, 'run 1'),
    ($$extend_key('pending', 'run-1', 1)$$, 'extended 1'),
    ($$finish_key('pending', 'run-1', 1)$$, 'done 1'),
    ($$check_key('done')$$, 'done 1'),
    ($$reset_key('rejected', 'desk')$$, 'reset 2'),
    ($$reap_stale_claims()$$, 'reaped'),
    ($$check_claims()$$, '55000 As the role that owns the extension run: ALTER EXTENSION pg_claims UPDATE'),
    ($$claims.grant_access('pg_monitor')$$, 'granted'),
    ($$claims.revoke_access('pg_monitor')$$, 'revoked');

SELECT call || ' answers ' || got || ' instead of ' || outcome
FROM (SELECT call, outcome, pg_temp.outcome(call) AS got FROM call) AS made
WHERE got IS DISTINCT FROM outcome;

-- A schedule needs pg_cron's own database, and is tested there. set_access is called by two others.
SELECT 'nothing calls ' || p.proname
FROM pg_depend AS d
JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE e.extname = 'pg_claims' AND d.deptype = 'e'
  AND p.proname NOT IN ('schedule_reaper', 'unschedule_reaper', 'set_access')
  AND NOT EXISTS (SELECT FROM call WHERE starts_with(call, p.proname || '(') OR starts_with(call, 'claims.' || p.proname || '('));
