#!/usr/bin/env bash
# Run once by the image of PostgreSQL, on an empty volume: a database for n8n itself, and one for its
# workflows, with pg_claims in it. The workflows' role is not its owner.
set -euo pipefail

psql --no-psqlrc --set=ON_ERROR_STOP=1 --username=postgres --dbname=postgres \
    --set=n8n_password="$N8N_DB_PASSWORD" --set=workflow_password="$WORKFLOW_PASSWORD" <<'SQL'
CREATE ROLE n8n LOGIN PASSWORD :'n8n_password';
CREATE DATABASE n8n OWNER n8n ENCODING 'UTF8' TEMPLATE template0;

CREATE ROLE workflow LOGIN PASSWORD :'workflow_password';
-- Without a password nobody logs in as it over the network; pg_cron runs the reaper as it.
CREATE ROLE workflows_owner LOGIN;
CREATE DATABASE workflows OWNER workflows_owner ENCODING 'UTF8' TEMPLATE template0;

\connect workflows
CREATE EXTENSION pg_cron;
GRANT USAGE ON SCHEMA cron TO workflows_owner;
SET ROLE workflows_owner;
CREATE EXTENSION pg_claims CASCADE;
SELECT claims.grant_access('workflow') ->> 'message';
SELECT schedule_reaper() ->> 'message';
SQL
