-- Gapless numbers: the series, and every number ever issued.
SET LOCAL search_path TO pg_catalog, pg_temp;

CREATE TABLE claims.series (
    series     text        PRIMARY KEY,
    first      bigint      NOT NULL CHECK (first >= 0),
    label      text        NOT NULL,
    per        text        NOT NULL CHECK (per IN ('forever', 'year', 'month')),
    zone       text        NOT NULL,
    span       text,
    last       bigint,
    created_at timestamptz NOT NULL,
    CHECK ((span IS NULL) = (last IS NULL))
);

CREATE TABLE claims.numbers (
    series    text        NOT NULL,
    span      text        NOT NULL,
    number    bigint      NOT NULL,
    label     text        NOT NULL,
    status    text        NOT NULL CHECK (status IN ('issued', 'void')),
    holder    text        NOT NULL,
    key       text,
    issued_at timestamptz NOT NULL,
    void_at   timestamptz,
    reason    text,
    note      jsonb,
    PRIMARY KEY (series, span, number),
    CHECK ((status = 'void') = (void_at IS NOT NULL))
);

CREATE UNIQUE INDEX numbers_key_key ON claims.numbers (series, key) WHERE key IS NOT NULL;

SELECT pg_catalog.pg_extension_config_dump('claims.series', '');
SELECT pg_catalog.pg_extension_config_dump('claims.numbers', '');

COMMENT ON TABLE claims.series IS
    'Series of numbers without gaps, and how far each has got. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.series.series IS 'the name of the series';
COMMENT ON COLUMN claims.series.first IS 'the number that each span begins with';
COMMENT ON COLUMN claims.series.label IS 'how a number is written, such as INV-{yyyy}-{n:05}';
COMMENT ON COLUMN claims.series.per IS 'when counting starts anew: forever (never), year or month';
COMMENT ON COLUMN claims.series.zone IS 'the time zone whose years and months count';
COMMENT ON COLUMN claims.series.span IS 'the year or month of the last number; empty when counting never starts anew';
COMMENT ON COLUMN claims.series.last IS 'the last number issued in that span';
COMMENT ON COLUMN claims.series.created_at IS 'when the series was made';
COMMENT ON TABLE claims.numbers IS
    'Every number issued, one row each; a void one stays and is never issued again. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.numbers.series IS 'the series';
COMMENT ON COLUMN claims.numbers.span IS 'the year or month it was counted in; empty when counting never starts anew';
COMMENT ON COLUMN claims.numbers.number IS 'the number';
COMMENT ON COLUMN claims.numbers.label IS 'the number as it is written';
COMMENT ON COLUMN claims.numbers.status IS 'issued or void';
COMMENT ON COLUMN claims.numbers.holder IS 'who got it';
COMMENT ON COLUMN claims.numbers.key IS 'what it was issued for: the same key gets the same number';
COMMENT ON COLUMN claims.numbers.issued_at IS 'when it was issued';
COMMENT ON COLUMN claims.numbers.void_at IS 'when it was made void';
COMMENT ON COLUMN claims.numbers.reason IS 'why it was made void';
COMMENT ON COLUMN claims.numbers.note IS 'whatever its holder wanted to keep with it';
COMMENT ON INDEX claims.numbers_key_key IS 'one number for one key';

SET LOCAL search_path TO @extschema@, pg_temp;
