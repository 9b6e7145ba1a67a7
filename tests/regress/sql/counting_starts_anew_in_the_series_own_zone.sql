--
-- With per => 'year' or 'month' counting starts anew, when the year or the month does so in the
-- series' own time zone, whatever the session's is.
--
SELECT create_series('year 1', label => '{yyyy}-{n:03}', per => 'year', zone => 'Europe/Berlin') ->> 'outcome' AS outcome,
       create_series('month 1', label => '{yy}{mm}-{n}', per => 'month', zone => 'Europe/Berlin') ->> 'outcome' AS outcome;
BEGIN;
SET LOCAL TimeZone = 'Pacific/Kiritimati';
SELECT answer->>'number' AS number, answer->>'span' = to_char(clock_timestamp() AT TIME ZONE 'Europe/Berlin', 'YYYY') AS span,
       answer->>'label' = to_char(clock_timestamp() AT TIME ZONE 'Europe/Berlin', 'YYYY') || '-001' AS label
  FROM next_number('year 1', 'h1') AS answer;
SELECT answer->>'number' AS number, answer->>'span' = to_char(clock_timestamp() AT TIME ZONE 'Europe/Berlin', 'YYYY-MM') AS span,
       answer->>'label' = to_char(clock_timestamp() AT TIME ZONE 'Europe/Berlin', 'YYMM') || '-1' AS label
  FROM next_number('month 1', 'h1') AS answer;
COMMIT;

-- Two zones that are never on the same day, and so not always in the same month.
SELECT create_series('month 2', per => 'month', zone => 'Etc/GMT-14') ->> 'outcome' AS outcome,
       create_series('month 3', per => 'month', zone => 'Etc/GMT+12') ->> 'outcome' AS outcome;
SELECT next_number('month 2', 'h1') ->> 'span' = to_char(clock_timestamp() AT TIME ZONE 'UTC' + interval '14 hours', 'YYYY-MM') AS east,
       next_number('month 3', 'h1') ->> 'span' = to_char(clock_timestamp() AT TIME ZONE 'UTC' - interval '12 hours', 'YYYY-MM') AS west;

-- A series that has got somewhere in an earlier year starts anew in this one.
INSERT INTO claims.numbers (series, span, number, label, status, holder, key, issued_at)
SELECT 'year 2', '2019', n, '2019-' || n, 'issued', 'h1', 'order ' || n, '2019-06-01Z' FROM generate_series(5, 7) AS n;
INSERT INTO claims.series (series, first, label, per, zone, span, last, created_at)
VALUES ('year 2', 5, '{yyyy}-{n}', 'year', 'UTC', '2019', 7, '2019-01-01Z');
SELECT answer->>'number' AS number, answer->>'span' > '2019' AS this_year FROM next_number('year 2', 'h1') AS answer;
SELECT next_number('year 2', 'h1') ->> 'number' AS number;
-- The key of an earlier year has its number there.
SELECT facts(next_number('year 2', 'h1', 'order 6')) - 'issued_at';
SELECT series, last, span > '2019' AS this_year FROM claims.series WHERE series = 'year 2';

-- A month, likewise.
INSERT INTO claims.numbers (series, span, number, label, status, holder, issued_at)
SELECT 'month 4', '2019-03', 1, '2019-03-1', 'issued', 'h1', '2019-03-01Z';
INSERT INTO claims.series (series, first, label, per, zone, span, last, created_at)
VALUES ('month 4', 1, '{yyyy}-{mm}-{n}', 'month', 'UTC', '2019-03', 1, '2019-01-01Z');
SELECT answer->>'number' AS number, answer->>'span' > '2019-03' AS this_month, answer->>'label' = (answer->>'span') || '-1' AS label
  FROM next_number('month 4', 'h1') AS answer;

-- Never back into an earlier year, should the clock be set back: numbers go on in the last.
INSERT INTO claims.numbers (series, span, number, label, status, holder, issued_at)
SELECT 'year 3', '2999', 1, '2999-1', 'issued', 'h1', '2999-01-01Z';
INSERT INTO claims.series (series, first, label, per, zone, span, last, created_at)
VALUES ('year 3', 1, '{yyyy}-{n}', 'year', 'UTC', '2999', 1, '2026-01-01Z');
SELECT facts(next_number('year 3', 'h1')) - 'issued_at';

-- Two years have the number 5: which one is to be void?
INSERT INTO claims.numbers (series, span, number, label, status, holder, issued_at)
SELECT 'year 4', span, 5, span || '-5', 'issued', 'h1', (span || '-01-01Z')::timestamptz FROM unnest(ARRAY['2018', '2019']) AS span;
INSERT INTO claims.series (series, first, label, per, zone, span, last, created_at)
VALUES ('year 4', 5, '{yyyy}-{n}', 'year', 'UTC', '2019', 5, '2018-01-01Z');
SELECT facts(void_number('year 4', 5));
SELECT facts(void_number('year 4', 5, 'never sent', span => '2018'));
SELECT facts(void_number('year 4', 5, span => '2017'));
SELECT span, number, status, reason FROM claims.numbers WHERE series = 'year 4' ORDER BY span;

SELECT facts(check_claims());
