--
-- check_claims names each thing that must not be, by a word, and says what it
-- means. Here all constraints are taken away, and everything is done wrong.
--
SELECT current_database() AS home \gset
CREATE DATABASE regress_claims_damage;
\c regress_claims_damage
SET client_min_messages = warning;
CREATE EXTENSION pg_claims CASCADE;

-- What every call leaves behind is sound: all there is to a claim's life.
DO $$
BEGIN
  PERFORM claim_slot('inn 1', 'h1', '1 ms'), begin_key('event 1', 'h1', lease => '1 ms');
  PERFORM claim_slot('inn 2', 'h1', '1 ms', on_expiry => 'review');
  PERFORM pg_sleep(0.02);
  PERFORM claim_slot('inn 1', 'h2'), confirm_slot('inn 1', 'h2');
  PERFORM cancel_slot('inn 1', 'h2', 2), claim_slot('inn 1', 'h1');
  PERFORM release_slot('inn 1', 'h1', in_doubt => true);
  PERFORM claim_slot('inn 3', 'h1', '1 ms');
  PERFORM pg_sleep(0.02);
  PERFORM reap_stale_claims();
  PERFORM confirm_slot('inn 3', 'h1', 1);
  PERFORM begin_key('event 1', 'h2'), finish_key('event 1', 'h2', 2, outcome => 'unknown');
  PERFORM begin_key('event 2', 'h1'), finish_key('event 2', 'h1', 1);
  PERFORM begin_key('event 3', 'h1'), finish_key('event 3', 'h1', 1, outcome => 'rejected');
  PERFORM reset_key('event 3', 'h1');
END
$$;
SELECT slot_id, token, status, origin FROM claims.slot_claims ORDER BY 1, 2;
SELECT check_claims();
-- The retention may delete the claim that a late confirm names.
DELETE FROM claims.slot_claims WHERE slot_id = 'inn 3' AND token = 1;
SELECT check_claims() ->> 'outcome' AS outcome;
DELETE FROM claims.slot_claims;
DELETE FROM claims.keys;

-- The guards gone. Since PostgreSQL 18 a NOT NULL is a constraint too ('n').
DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN SELECT conrelid::regclass AS of_table, conname AS name FROM pg_constraint
                WHERE contype <> 'n'
                  AND conrelid IN ('claims.slot_claims'::regclass, 'claims.keys'::regclass) LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', guard.of_table, guard.name);
  END LOOP;
  DROP INDEX claims.slot_claims_active_key;
  ALTER TABLE claims.slot_claims ALTER token DROP NOT NULL, ALTER holder DROP NOT NULL, ALTER status DROP NOT NULL;
  ALTER TABLE claims.keys ALTER token DROP NOT NULL, ALTER status DROP NOT NULL, ALTER lease_expires_at DROP NOT NULL;
END
$$;
SELECT v ->> 'name' AS name FROM jsonb_array_elements(check_claims() -> 'violations') AS v;

CREATE VIEW found AS
SELECT v ->> 'what' AS what, coalesce(v ->> 'slot_id', v ->> 'key') AS subject, v ->> 'tokens' AS tokens
  FROM jsonb_array_elements(check_claims() -> 'violations') WITH ORDINALITY AS list (v, n)
 WHERE v ->> 'what' <> 'guard_missing' ORDER BY n;

CREATE FUNCTION damage(slot_id text, token bigint, status text, period tstzrange DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
                       ended_at timestamptz DEFAULT NULL, holder text DEFAULT 'h1', origin bigint DEFAULT NULL)
RETURNS void LANGUAGE sql AS $$
  INSERT INTO claims.slot_claims (slot_id, token, holder, status, period, claimed_at, expires_at, on_expiry, ended_at, origin)
  VALUES ($1, $2, $7, $3, $4, now(), $5, 'release', $6, $8)
$$;
DO $$
DECLARE
  soon timestamptz := now() + interval '1 hour';
  ago timestamptz := now() - interval '1 hour';
BEGIN
  PERFORM damage('01 twice', 1, 'booked'), damage('01 twice', 2, 'claimed', expires_at => soon);
  PERFORM damage('02 overlap', 1, 'booked', tstzrange('2030-01-01 09:00Z', '2030-01-01 10:00Z')),
          damage('02 overlap', 2, 'booked', tstzrange('2030-01-01 09:30Z', '2030-01-01 10:30Z')),
          damage('02 overlap', 3, 'booked', tstzrange('2030-01-01 10:30Z', '2030-01-01 11:00Z'));
  PERFORM damage('03 whole', 1, 'booked', tstzrange('2030-01-01 09:00Z', '2030-01-01 10:00Z')), damage('03 whole', 2, 'booked');
  PERFORM damage('04 below', 1, 'booked'), damage('04 below', 2, 'released', ended_at => ago);
  PERFORM damage('05 same', 1, 'released', ended_at => ago), damage('05 same', 1, 'released', ended_at => ago);
  PERFORM damage('06 zero', 0, 'released', ended_at => ago), damage('06 none', NULL, 'released', ended_at => ago);
  PERFORM damage('07 lent', 1, 'lent'), damage('07 null', 1, NULL);
  PERFORM damage('08 no end', 1, 'claimed');
  PERFORM damage('09 booked', 1, 'booked', expires_at => soon);
  PERFORM damage('10 when', 1, 'released');
  PERFORM damage('11 both', 1, 'booked', ended_at => ago);
  PERFORM damage('12 lease', 1, 'expired', expires_at => soon, ended_at => ago);
  PERFORM damage('13 empty', 1, 'booked', 'empty');
  PERFORM damage('14 origin', 1, 'booked', origin => 1);
  PERFORM damage('15 blank', 1, 'booked', holder => E' \t'), damage('15 nobody', 1, 'booked', holder => NULL), damage('', 1, 'booked');
  -- All of these are as they should be.
  PERFORM damage('fine 1', 7, 'expired', ended_at => ago), damage('fine 1', 9, 'booked', origin => 3);
  PERFORM damage('fine 2', 1, 'claimed', expires_at => ago);
  PERFORM damage('fine 3', 1, 'booked', tstzrange('2030-01-01 09:00Z', '2030-01-01 10:00Z')),
          damage('fine 3', 2, 'booked', tstzrange('2030-01-01 10:00Z', '2030-01-01 11:00Z'));
  PERFORM damage('fine 4', 1, 'review', expires_at => ago);
END
$$;
SELECT * FROM found;
SELECT check_claims() -> 'violation_count' AS violation_count;
-- A sentence for each.
SELECT DISTINCT v ->> 'what' AS what, v ->> 'means' AS means FROM jsonb_array_elements(check_claims() -> 'violations') AS v ORDER BY 1;
DELETE FROM claims.slot_claims;

INSERT INTO claims.keys (key, status, holder, token, attempt, started_at, lease_expires_at, finished_at, result) VALUES
  ('01 twice', 'pending', 'h1', 1, 1, now(), now(), NULL, NULL),
  ('01 twice', 'done', 'h1', 2, 1, now(), now(), now(), 'null'),
  ('02 zero', 'done', 'h1', 0, 1, now(), now(), now(), 'null'),
  ('03 lost', 'lost', 'h1', 1, 1, now(), now(), now(), 'null'),
  ('04 nobody', 'done', NULL, 1, 1, now(), now(), now(), 'null'),
  ('05 finished', 'pending', 'h1', 1, 1, now(), now(), now(), NULL),
  ('06 no lease', 'pending', 'h1', 1, 1, now(), NULL, NULL, NULL),
  ('07 when', 'done', 'h1', 1, 1, now(), now(), NULL, 'null'),
  ('08 what', 'done', 'h1', 1, 1, now(), now(), now(), NULL),
  ('08 what not', 'rejected', 'h1', 1, 1, now(), now(), now(), NULL),
  ('09 blank', 'done', ' ', 1, 1, now(), now(), now(), 'null'),
  ('  ', 'done', 'h1', 1, 1, now(), now(), now(), 'null'),
  -- As they should be: one in doubt, one that failed, one that was reset.
  ('fine 1', 'pending', 'h1', 2, 1, now(), now() - interval '1 hour', NULL, '{"seen": false}'),
  ('fine 2', 'failed', 'h1', 1, 1, now(), now(), now(), NULL),
  ('fine 3', 'failed', NULL, 2, 1, now(), now(), now(), NULL);
SELECT * FROM found;
SELECT DISTINCT v ->> 'what' AS what, v ->> 'means' AS means FROM jsonb_array_elements(check_claims() -> 'violations') AS v
 WHERE v ->> 'what' LIKE 'key%' ORDER BY 1;
DELETE FROM claims.keys;

-- Ten of a kind are shown, and all are counted.
DO $$ BEGIN PERFORM damage('slot ' || n, 1, 'booked', expires_at => now()) FROM generate_series(1, 250) AS n; END $$;
INSERT INTO claims.keys (key, status, holder, token, attempt, started_at, lease_expires_at, finished_at) VALUES
  ('key 1', 'done', 'h1', 1, 1, now(), now(), now());
SELECT check_claims() -> 'violation_count' AS violation_count;
SELECT what, count(*), min(subject), max(subject) FROM found GROUP BY 1 ORDER BY 1;

\c :home
DROP DATABASE regress_claims_damage;
