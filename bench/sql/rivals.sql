-- What people would write instead, and the floor under all of it.

CREATE SCHEMA rival;

-- The statement everyone copies needs a table with one row a slot.
CREATE TABLE rival.slots (
    slot_id    text        PRIMARY KEY,
    holder     text        NOT NULL,
    status     text        NOT NULL,
    claimed_at timestamptz NOT NULL,
    expires_at timestamptz,
    result     jsonb
);

CREATE TABLE rival.keys (
    key         text        PRIMARY KEY,
    holder      text        NOT NULL,
    status      text        NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    result      jsonb
);

CREATE TABLE rival.stock (
    item text    PRIMARY KEY,
    n    integer NOT NULL CHECK (n >= 0)
);

CREATE TABLE rival.appointments (
    room       text        NOT NULL,
    period     tstzrange   NOT NULL,
    holder     text        NOT NULL,
    status     text        NOT NULL,
    claimed_at timestamptz NOT NULL,
    expires_at timestamptz,
    EXCLUDE USING gist (room WITH =, period WITH &&)
);

-- The floor: a C function of PostgreSQL's own under another name. What it takes is the way of a
-- statement with two texts to the server and of one text back.
CREATE FUNCTION rival.noop(text, text) RETURNS text LANGUAGE internal VOLATILE AS 'text_larger';
