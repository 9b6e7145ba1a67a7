--
-- The reaper is scheduled through pg_cron, which lives in one database of a
-- server. Anywhere else the error says what to run, and where.
--
SELECT schedule_reaper();
\echo :LAST_ERROR_SQLSTATE
SELECT schedule_reaper('*/10 * * * *', '1 hour');
SELECT schedule_reaper('*/10 * * * *', '1.5 s');
SELECT unschedule_reaper();
\echo :LAST_ERROR_SQLSTATE

-- Whatever the names are, what it says can be run as it is.
SELECT current_database() AS home \gset
CREATE ROLE "regress o'role";
CREATE DATABASE "regress it's" OWNER "regress o'role";
\c "regress it's"
SET client_min_messages = warning;
CREATE SCHEMA "Tools n more";
CREATE EXTENSION pg_claims SCHEMA "Tools n more" CASCADE;
SELECT claims.grant_access('"regress o''role"') ->> 'outcome' AS outcome;
GRANT USAGE ON SCHEMA "Tools n more" TO "regress o'role";
SET ROLE "regress o'role";
SELECT "Tools n more".schedule_reaper();
SELECT "Tools n more".unschedule_reaper();
RESET ROLE;
\c :home
DROP DATABASE "regress it's";
DROP ROLE "regress o'role";

-- Where nothing can be written.
BEGIN READ ONLY;
SELECT call, state, message
  FROM unnest(ARRAY['schedule_reaper()', 'unschedule_reaper()']) AS call, refusal('SELECT ' || call);
COMMIT;
