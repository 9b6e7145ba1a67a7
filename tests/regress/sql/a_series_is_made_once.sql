--
-- Making a series again is no fault, as long as it is the same; another definition under
-- the same name changes nothing.
--
SELECT facts(create_series('invoice 11', 1, 'INV-{yyyy}-{n:05}', 'year', 'Europe/Berlin'));
SELECT facts(create_series('invoice 11', 1, 'INV-{yyyy}-{n:05}', 'year', 'Europe/Berlin'));
SELECT facts(create_series('invoice 11', 1, 'INV-{yyyy}-{n:05}', 'year', 'europe/berlin'));
SELECT facts(create_series('invoice 11'));
SELECT change, answer->>'outcome' AS outcome
  FROM (VALUES ('first', create_series('invoice 11', 2, 'INV-{yyyy}-{n:05}', 'year', 'Europe/Berlin')),
               ('label', create_series('invoice 11', 1, 'INV-{yyyy}-{n:06}', 'year', 'Europe/Berlin')),
               ('per', create_series('invoice 11', 1, 'INV-{yyyy}-{n:05}', 'forever', 'Europe/Berlin')),
               ('zone', create_series('invoice 11', 1, 'INV-{yyyy}-{n:05}', 'year', 'UTC'))) AS changes(change, answer);
SELECT first, label, per, zone, span, last FROM claims.series WHERE series = 'invoice 11';

-- Also when it has counted already.
SELECT next_number('invoice 11', 'h1') ->> 'number' AS number;
SELECT facts(create_series('invoice 11', 1, 'INV-{yyyy}-{n:05}', 'year', 'Europe/Berlin')) ->> 'outcome' AS outcome;
SELECT next_number('invoice 11', 'h1') ->> 'number' AS number;

-- The label that it has when none is given.
SELECT create_series('invoice 12') ->> 'outcome' AS outcome, create_series('invoice 13', per => 'year') ->> 'outcome' AS outcome,
       create_series('invoice 14', per => 'month') ->> 'outcome' AS outcome;
SELECT series, first, label, per, zone FROM claims.series WHERE series IN ('invoice 12', 'invoice 13', 'invoice 14') ORDER BY series;
