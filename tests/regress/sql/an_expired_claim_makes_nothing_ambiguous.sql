--
-- Without a token a call means the holder's one open claim. One that has expired is
-- not open any more, whether or not anybody has written that down.
--
SELECT claim_period('studio 4', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms') ->> 'token' AS token, pg_sleep(0.02);
SELECT claim_period('studio 4', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'token' AS token;
SELECT holds_slot('studio 4', 'h1');
SELECT facts(extend_slot('studio 4', 'h1')) ->> 'token' AS token;
SELECT facts(confirm_slot('studio 4', 'h1')) ->> 'outcome' AS outcome;
SELECT * FROM claims_of('studio 4');

-- The same after the reaper.
SELECT claim_period('studio 5', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms') ->> 'token' AS token, pg_sleep(0.02);
SELECT claim_period('studio 5', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'token' AS token;
SELECT reap_stale_claims() ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('studio 5', 'h1')) ->> 'outcome' AS outcome;

-- One in review is open: it is to be decided on.
SELECT claim_period('studio 6', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms', on_expiry => 'review') ->> 'token' AS token, pg_sleep(0.02);
SELECT claim_period('studio 6', 'h1', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'token' AS token;
SELECT facts(confirm_slot('studio 6', 'h1'));
