--
-- Moving is one step: the old claim ends, the new one has its status and its
-- lease, and may overlap its old self. The old token goes on meaning it.
--
SELECT claim_period('couch 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour', call_id => 'c1', note => '{"for": "Ann"}') AS claimed \gset
SELECT facts(:'claimed') ->> 'token' AS token;
SELECT move_period('couch 1', 'h1', 1, '2031-01-02T09:30Z', '2031-01-02T10:30Z') AS moved \gset
SELECT facts(:'moved');
SELECT :'claimed'::jsonb->'expires_at' = :'moved'::jsonb->'expires_at' AS the_same_lease;
SELECT token, holder, status, origin, ended_by, call_id, note, on_expiry, expires_at IS NOT NULL AS expires
  FROM claims.slot_claims WHERE slot_id = 'couch 1' ORDER BY token;
SELECT holds_slot('couch 1', 'h1', 1), holds_slot('couch 1', 'h1', 2), holds_slot('couch 1', 'h1');

-- What it left is free, what it has now is not.
SELECT facts(check_period('couch 1', '2031-01-02T09:00Z', '2031-01-02T09:30Z')) ->> 'outcome' AS left_behind,
       facts(check_period('couch 1', '2031-01-02T10:00Z', '2031-01-02T11:00Z')) ->> 'outcome' AS taken_up;

-- Again, from either token; a repeated move lands in the same place.
SELECT facts(move_period('couch 1', 'h1', 1, '2031-01-02T11:00Z', '2031-01-02T12:00Z'));
SELECT facts(move_period('couch 1', 'h1', 2, '2031-01-02T11:00Z', '2031-01-02T12:00Z'));

-- The first token confirms it; a booking is moved as well, without a token too.
SELECT facts(confirm_slot('couch 1', 'h1', 1, '{"event": "e1"}'));
SELECT facts(move_period('couch 1', 'h1', NULL, '2031-01-02T09:00+01:00', '2031-01-02T10:00+01:00'));
SELECT facts(confirm_slot('couch 1', 'h1', 1));
SELECT facts(check_period('couch 1', '2031-01-02T08:30Z', '2031-01-02T08:45Z'));
SELECT facts(cancel_slot('couch 1', 'desk', 1));
SELECT facts(cancel_slot('couch 1', 'desk', 2));
SELECT facts(confirm_slot('couch 1', 'h1', 1));
SELECT token, status, origin, ended_by, result FROM claims.slot_claims WHERE slot_id = 'couch 1' ORDER BY token;

-- It ends the expired claims that it moves onto, and only those.
SELECT claim_period('couch 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms') ->> 'outcome' AS outcome,
       claim_period('couch 2', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '1 ms') ->> 'outcome' AS outcome,
       claim_period('couch 2', 'h3', '2031-01-02T12:00Z', '2031-01-02T13:00Z') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(move_period('couch 2', 'h3', 3, '2031-01-02T10:30Z', '2031-01-02T11:30Z')) ->> 'outcome' AS outcome;
SELECT token, holder, status, origin, ended_by FROM claims.slot_claims WHERE slot_id = 'couch 2' ORDER BY token;

-- Released and released again from the old token.
SELECT facts(release_slot('couch 2', 'h3', 3));
SELECT facts(release_slot('couch 2', 'h3', 3));

-- A late confirm can be moved.
SELECT facts(confirm_slot('couch 2', 'h1', 1)) ->> 'outcome' AS outcome;
SELECT facts(move_period('couch 2', 'h1', 1, '2031-01-02T15:00Z', '2031-01-02T16:00Z')) ->> 'outcome' AS outcome;
SELECT token, holder, status, origin FROM claims.slot_claims WHERE slot_id = 'couch 2' ORDER BY token;
SELECT facts(check_claims());
