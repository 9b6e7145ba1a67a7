--
-- What is in the way of a period is found without a statement by walking back from its
-- end; and through SQL, which asks for what overlaps, where somebody has put a trigger on
-- the table. Both find the same, in a calendar with gaps, with periods that touch, and
-- with such as are over, in review or ended.
--
INSERT INTO claims.slot_claims (slot_id, token, holder, status, period, claimed_at, expires_at, on_expiry, ended_at)
SELECT CASE n % 11 WHEN 7 THEN 'another day' ELSE 'a day' END, n + 1, 'h' || n, status,
       tstzrange('2031-01-01Z'::timestamptz + n * interval '1 hour',
                 '2031-01-01Z'::timestamptz + n * interval '1 hour' + (n * 37 % 60 + 1) * interval '1 minute'),
       now() - interval '1 day',
       CASE status WHEN 'claimed' THEN now() + (n % 2 * 2 - 1) * interval '1 hour' WHEN 'review' THEN now() END,
       CASE n % 6 WHEN 0 THEN 'review' ELSE 'release' END,
       CASE status WHEN 'cancelled' THEN now() END
  FROM generate_series(0, 59) AS n,
       LATERAL (SELECT (ARRAY['booked', 'claimed', 'claimed', 'review', 'cancelled'])[n % 5 + 1]) AS s (status);
-- One that ends where the next begins, and one that is as long as all the others.
INSERT INTO claims.slot_claims (slot_id, token, holder, status, period, claimed_at, on_expiry)
VALUES ('a day', 101, 'touching', 'booked', '[2031-01-04T00:00Z,2031-01-04T01:00Z)', now(), 'release'),
       ('a day', 102, 'touching', 'booked', '[2031-01-04T01:00Z,2031-01-04T02:00Z)', now(), 'release'),
       ('a day', 103, 'long', 'booked', '[2031-01-04T02:00Z,2031-01-07T00:00Z)', now(), 'release');

CREATE FUNCTION asked() RETURNS TABLE (starts_at timestamptz, ends_at timestamptz, answer jsonb) LANGUAGE sql VOLATILE AS $$
  SELECT begin, begin + length, check_period('a day', to_json(begin) #>> '{}', to_json(begin + length) #>> '{}')
           - ARRAY['retry_after_ms', 'remaining_ms']
    FROM generate_series('2030-12-31T23:00Z'::timestamptz, '2031-01-07T01:00Z', '17 minutes') AS begin,
         unnest(ARRAY['1 minute', '17 minutes', '1 hour', '3 hours', '4 days']::interval[]) AS length
$$;
SET TimeZone = 'UTC';
CREATE TEMP TABLE without_statements AS SELECT * FROM asked();
CREATE FUNCTION stand_by() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER stand_by BEFORE INSERT ON claims.slot_claims FOR EACH ROW EXECUTE FUNCTION stand_by();
CREATE TEMP TABLE by_statements AS SELECT * FROM asked();
DROP TRIGGER stand_by ON claims.slot_claims;
DROP FUNCTION asked, stand_by;

SELECT answer ->> 'outcome' AS outcome, answer ->> 'status' AS status, count(*)
  FROM without_statements GROUP BY 1, 2 ORDER BY 1, 2;
SELECT starts_at, ends_at, a.answer AS without_statements, b.answer AS by_statements
  FROM without_statements AS a JOIN by_statements AS b USING (starts_at, ends_at) WHERE a.answer <> b.answer;
-- What SQL says of it without our functions.
SELECT count(*) AS wrong
  FROM without_statements AS asked
 WHERE (answer ->> 'ok')::boolean = EXISTS (
         SELECT FROM claims.slot_claims
          WHERE slot_id = 'a day' AND ended_at IS NULL AND period && tstzrange(asked.starts_at, asked.ends_at)
            AND NOT (status = 'claimed' AND on_expiry = 'release' AND expires_at <= now()));
DELETE FROM claims.slot_claims WHERE slot_id IN ('a day', 'another day');
