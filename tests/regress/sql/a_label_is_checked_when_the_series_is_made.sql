--
-- A label is refused when the series is made and not when the first invoice is due:
-- no two numbers of a series may ever look alike.
--
SELECT create_series('invoice 10', label => 'INV-{number}');
\echo :LAST_ERROR_SQLSTATE
SELECT create_series('invoice 10', label => 'INV-2031');
SELECT create_series('invoice 10', label => 'INV-{n}', per => 'year');
SELECT create_series('invoice 10', label => 'INV-{yyyy}-{n}', per => 'month');

SELECT label, per, state, detail
  FROM (VALUES ('', 'forever'), (' {n}', 'forever'), ('INV-{n', 'forever'), ('INV-n}', 'forever'), ('INV-}{n}', 'forever'), ('INV-{n}}', 'forever'),
               ('INV-{{n}}', 'forever'), ('INV-{}', 'forever'), ('INV-{N}', 'forever'), ('INV-{n:5}', 'forever'), ('INV-{n:0}', 'forever'),
               ('INV-{n:00}', 'forever'), ('INV-{n:019}', 'forever'), ('INV-{n:0-3}', 'forever'), ('INV-{n:0x}', 'forever'), ('INV-{ n }', 'forever'),
               ('INV-{n:}', 'forever'), ('INV-{dd}-{n}', 'forever'), ('{yyyy}', 'forever'), ('{mm}-{n}', 'year'), ('{yyyy}{mm}', 'month'),
               ('{mm}-{n}', 'month'), ('undefined', 'forever')) AS labels(label, per),
       refusal(format('SELECT create_series(%L, label => %L, per => %L)', 'invoice 10', label, per));

-- Other things of a series.
SELECT create_series('invoice 10', per => 'week');
SELECT create_series('invoice 10', per => NULL);
SELECT create_series('invoice 10', first => -1);
SELECT create_series('invoice 10', first => NULL);
SELECT create_series('invoice 10', zone => 'Europe/Berln');
SELECT zone, state, message
  FROM unnest(ARRAY['', 'undefined', 'Mars/Olympus', '+01:00', '<+01>-1', 'UTC+1', 'Europe/Berlin ', NULL]) AS zone,
       refusal(format('SELECT create_series(%L, zone => %L)', 'invoice 10', zone));
SELECT series, state, message
  FROM unnest(ARRAY['', 'undefined', ' x', NULL]) AS series, refusal(format('SELECT create_series(%L)', series));
SELECT count(*) FROM claims.series WHERE series = 'invoice 10';

-- What labels may be, and what they make of a number.
SELECT label, answer->>'outcome' AS outcome, next_number('label ' || label, 'h1') ->> 'label' AS first, next_number('label ' || label, 'h1') ->> 'label' AS second
  FROM unnest(ARRAY['{n}', '{n:01}', '{n:05}', '{n:018}', '№ {n}', 'INV-{n}/A', '{n}{n:03}', 'a b {n}', '%d {n}', '({n:02})']) AS label
  CROSS JOIN LATERAL create_series('label ' || label, first => 9, label => label) AS answer;
SELECT next_number('label {n:05}', 'h1') ->> 'label' AS label;
SELECT create_series('label 9', first => 99999, label => '{n:05}') ->> 'outcome' AS outcome;
SELECT next_number('label 9', 'h1') ->> 'label' AS label, next_number('label 9', 'h1') ->> 'label' AS label;

-- The time, in a label of a series that never starts anew.
SELECT create_series('label 10', label => '{yyyy} {yy} {mm} {n}') ->> 'outcome' AS outcome;
SELECT next_number('label 10', 'h1') ->> 'label' = to_char(now() AT TIME ZONE 'UTC', 'YYYY YY MM') || ' 1' AS as_of_now;
