--
-- What happens to the claim of a period is what happens to the claim of a slot:
-- confirm, release, extend, cancel, resolve, check and the fence are the same
-- functions.
--
SELECT facts(claim_period('studio 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour')) ->> 'token' AS token;
SELECT facts(claim_period('studio 2', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '1 hour')) ->> 'token' AS token;
SELECT facts(claim_period('studio 2', 'h3', '2031-01-02T11:00Z', '2031-01-02T12:00Z', ttl => '1 hour')) ->> 'token' AS token;
SELECT facts(claim_period('studio 2', 'h4', '2031-01-02T12:00Z', '2031-01-02T13:00Z', ttl => '1 hour')) ->> 'token' AS token;

-- Confirmed, once.
SELECT holds_slot('studio 2', 'h1', 1), require_slot('studio 2', 'h1', 1), holds_slot('studio 2', 'h2', 1);
SELECT facts(confirm_slot('studio 2', 'h1', 1, '{"event": "e1"}'));
SELECT facts(confirm_slot('studio 2', 'h1', 1, '{"event": "e2"}'));
SELECT holds_slot('studio 2', 'h1', 1);
SELECT state, message, detail FROM refusal($$SELECT require_slot('studio 2', 'h1', 1)$$);
SELECT facts(extend_slot('studio 2', 'h1', 1));
SELECT facts(release_slot('studio 2', 'h1', 1));

-- Released, more than once; and without a token it is the holder's own.
SELECT facts(release_slot('studio 2', 'h2', reason => 'customer left'));
SELECT facts(release_slot('studio 2', 'h2', 2));
SELECT facts(extend_slot('studio 2', 'h2', 2));

-- Extended.
SELECT facts(extend_slot('studio 2', 'h3', 3, '2 hours'));
SELECT expires_at - clock_timestamp() > '1 hour 59 minutes' AS longer FROM claims.slot_claims WHERE slot_id = 'studio 2' AND token = 3;

-- In doubt, and resolved both ways.
SELECT facts(release_slot('studio 2', 'h3', 3, in_doubt => true));
SELECT facts(release_slot('studio 2', 'h4', 4, in_doubt => true));
SELECT facts(check_period('studio 2', '2031-01-02T11:00Z', '2031-01-02T12:00Z'));
SELECT facts(resolve_slot('studio 2', 'h3', 3, 'booked', '{"seen": true}'));
SELECT facts(resolve_slot('studio 2', 'h4', 4, 'released'));
SELECT facts(resolve_slot('studio 2', 'h4', 4, 'released'));

-- Cancelled, and a repeated cancel does not hit the next customer.
SELECT facts(cancel_slot('studio 2', 'desk', 1, 'customer ill'));
SELECT facts(claim_period('studio 2', 'h5', '2031-01-02T09:30Z', '2031-01-02T10:30Z')) ->> 'token' AS token;
SELECT facts(cancel_slot('studio 2', 'desk', 1));
SELECT facts(confirm_slot('studio 2', 'h1', 1));
SELECT facts(cancel_slot('studio 2', 'desk', 5));

-- Somebody else's token is of no use.
SELECT facts(confirm_slot('studio 2', 'h9', 5));
SELECT facts(release_slot('studio 2', 'h3', 5));
SELECT facts(move_period('studio 2', 'h3', 5, '2031-01-03T09:00Z', '2031-01-03T10:00Z'));
SELECT * FROM claims_of('studio 2');

-- release_holder ends what is unconfirmed, each as it was meant to end.
SELECT claim_period('studio 3', 'run of studio 3', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS first,
       claim_period('studio 3', 'run of studio 3', '2031-01-02T10:00Z', '2031-01-02T11:00Z', on_expiry => 'review') ->> 'outcome' AS second,
       claim_period('studio 3', 'run of studio 3', '2031-01-02T11:00Z', '2031-01-02T12:00Z') ->> 'outcome' AS third,
       confirm_slot('studio 3', 'run of studio 3', 3) ->> 'outcome' AS third;
SELECT facts(release_holder('run of studio 3', 'execution failed'));
SELECT token, status, ended_by, reason FROM claims.slot_claims WHERE slot_id = 'studio 3' ORDER BY token;
SELECT claim_period('studio 3', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS first,
       claim_period('studio 3', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'status' AS second,
       claim_period('studio 3', 'h2', '2031-01-02T11:00Z', '2031-01-02T12:00Z') ->> 'status' AS third;
