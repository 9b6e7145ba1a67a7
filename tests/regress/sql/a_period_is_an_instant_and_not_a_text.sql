--
-- Times are compared as instants, however they are written (case 18): with Z, with an
-- offset, in the double quotes that n8n's $now brings along, and as the text
-- of a timestamptz in any time zone.
--
SELECT facts(claim_period('meeting 1', 'h1', '2026-01-02 09:00:00Z', '2026-01-02 09:30:00Z'));
SELECT facts(claim_period('meeting 1', 'h2', '2026-01-02T11:00:00+02:00', '2026-01-02T11:30:00+02:00'));
SELECT facts(claim_period('meeting 1', 'h3', '"2026-01-02T11:00:00+02:00"', '"2026-01-02T11:30:00+02:00"'));
SELECT facts(claim_period('meeting 1', 'h4', '2026-01-02T11:30:00+02:00', '2026-01-02T11:45:00+02:00')) ->> 'outcome' AS outcome;

-- One instant in many spellings.
SELECT spelling, claim_period('meeting 2', 'h1', spelling, '2026-01-02T12:00Z') ->> 'starts_at' AS starts_at
  FROM unnest(ARRAY['2026-01-02T09:00:00Z', '2026-01-02t09:00:00z', '2026-01-02 09:00Z', '20260102T090000Z',
                    '2026-01-02T10:00:00+01:00', '2026-01-02T10:00:00+0100', '2026-01-02 10:00:00+01',
                    '2026-01-02T10:00:00.000000+01:00', '2026-01-02T05:30:00-03:30', '2026-01-02T14:45:00+05:45',
                    '2026-01-01T23:00:00-10:00', '2026-01-02T23:00:00+14:00', '  2026-01-02T09:00:00Z ',
                    '"2026-01-02T09:00:00.000Z"', '2026-01-02T10:00:00+01:00[Europe/Berlin]']) AS spelling;
SELECT * FROM claims_of('meeting 2');

-- As the text of a timestamptz, wherever the session is.
SET DateStyle = 'ISO';
SET TimeZone = 'UTC';
SELECT claim_period('meeting 3', 'h1', '2026-07-02 09:00Z'::timestamptz::text, '2026-07-02 10:00Z'::timestamptz::text)
       ->> 'outcome' AS outcome;
SET TimeZone = 'Europe/Berlin';
SELECT '2026-07-02 09:00Z'::timestamptz::text AS spelling,
       claim_period('meeting 3', 'h2', '2026-07-02 09:00Z'::timestamptz::text, '2026-07-02 10:00Z'::timestamptz::text)
       ->> 'starts_at' AS starts_at;
SET TimeZone = 'America/St_Johns';
SELECT '2026-07-02 09:00Z'::timestamptz::text AS spelling,
       claim_period('meeting 3', 'h2', '2026-07-02 09:00Z'::timestamptz::text, '2026-07-02 10:00Z'::timestamptz::text)
       ->> 'starts_at' AS starts_at;
SET TimeZone = 'Asia/Kathmandu';
SELECT '2026-07-02 09:00Z'::timestamptz::text AS spelling,
       claim_period('meeting 3', 'h2', '2026-07-02 09:00Z'::timestamptz::text, '2026-07-02 10:00Z'::timestamptz::text)
       ->> 'starts_at' AS starts_at;
-- Old time zones have seconds.
SET TimeZone = 'Europe/Berlin';
SELECT '1880-07-02 09:00Z'::timestamptz::text AS spelling,
       claim_period('meeting 3', 'h2', '1880-07-02 09:00Z'::timestamptz::text, '1880-07-02 10:00Z'::timestamptz::text)
       ->> 'starts_at' AS starts_at;

-- In the other date styles that text means another day here and there, or has no
-- offset: refused, and never taken for something else.
SET DateStyle = 'German';
SELECT * FROM refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'meeting 3', 'h3',
                             '2026-05-02 09:00Z'::timestamptz::text, '2026-05-02 10:00Z'::timestamptz::text));
SET DateStyle = 'SQL, DMY';
SELECT state, detail FROM refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'meeting 3', 'h3',
                             '2026-05-02 09:00Z'::timestamptz::text, '2026-05-02 10:00Z'::timestamptz::text));
SET DateStyle = 'SQL, MDY';
SELECT state, detail FROM refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'meeting 3', 'h3',
                             '2026-05-02 09:00Z'::timestamptz::text, '2026-05-02 10:00Z'::timestamptz::text));
SET DateStyle = 'Postgres, MDY';
SELECT state, detail FROM refusal(format('SELECT claim_period(%L, %L, %L, %L)', 'meeting 3', 'h3',
                             '2026-05-02 09:00Z'::timestamptz::text, '2026-05-02 10:00Z'::timestamptz::text));
RESET DateStyle;
RESET TimeZone;

-- An hour that a time zone has twice in its autumn is two periods.
SELECT claim_period('meeting 4', 'h1', '2031-10-26T02:00:00+02:00', '2031-10-26T03:00:00+02:00') ->> 'outcome' AS summer_time,
       claim_period('meeting 4', 'h2', '2031-10-26T02:00:00+01:00', '2031-10-26T03:00:00+01:00') ->> 'outcome' AS winter_time;

SELECT slot_id, token, holder FROM claims.slot_claims WHERE slot_id IN ('meeting 3', 'meeting 4') ORDER BY 1, 2;
