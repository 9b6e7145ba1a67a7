--
-- Who has the whole slot has every period of it, and who has a period keeps
-- others from the whole.
--
SELECT facts(claim_slot('cove 1', 'h1', '1 hour'));
SELECT facts(claim_period('cove 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT confirm_slot('cove 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(claim_period('cove 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT facts(check_period('cove 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT cancel_slot('cove 1', 'desk', 1) ->> 'outcome' AS outcome;
SELECT facts(claim_period('cove 1', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z')) ->> 'outcome' AS outcome;

SELECT facts(claim_period('cove 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour'));
SELECT facts(claim_slot('cove 2', 'h2'));
SELECT facts(check_slot('cove 2'));
SELECT confirm_slot('cove 2', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('cove 2', 'h2'));
SELECT cancel_slot('cove 2', 'desk', 1) ->> 'outcome' AS outcome;
SELECT facts(claim_slot('cove 2', 'h2')) ->> 'outcome' AS outcome;

-- The last claim need not be the one that is in the way.
SELECT claim_period('cove 3', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour') ->> 'outcome' AS first,
       claim_period('cove 3', 'h2', '2031-01-02T10:00Z', '2031-01-02T11:00Z') ->> 'outcome' AS second,
       release_slot('cove 3', 'h2', 2) ->> 'outcome' AS second;
SELECT facts(claim_slot('cove 3', 'h3'));
SELECT facts(check_slot('cove 3'));

-- Expired ones of either kind are taken over by the other.
SELECT expired_claim('cove 4', 'h1');
SELECT facts(claim_period('cove 4', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms'));
SELECT claim_period('cove 4', 'h3', '2031-01-02T10:00Z', '2031-01-02T11:00Z', ttl => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(claim_slot('cove 4', 'h4', '1 hour')) - 'previous_holder';
SELECT token, holder, status, ended_by FROM claims.slot_claims WHERE slot_id = 'cove 4' ORDER BY token;

-- In review either of them blocks the other.
SELECT expired_claim('cove 5', 'h1', 'review');
SELECT facts(claim_period('cove 5', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT claim_period('cove 6', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms', on_expiry => 'review') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(claim_slot('cove 6', 'h2'));

-- The same holder, either way: once is enough.
SELECT claim_slot('cove 7', 'h1', '1 hour') ->> 'outcome' AS outcome;
SELECT facts(claim_period('cove 7', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));
SELECT claim_period('cove 8', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS outcome;
SELECT facts(claim_slot('cove 8', 'h1'));

-- A late confirm of the one is lost to the other.
SELECT expired_claim('cove 9', 'h1');
SELECT facts(claim_period('cove 9', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 hour')) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('cove 9', 'h1', 1));
SELECT release_slot('cove 9', 'h2', 2) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('cove 9', 'h1', 1));
SELECT facts(claim_period('cove 9', 'h2', '2031-01-02T09:00Z', '2031-01-02T10:00Z'));

SELECT facts(check_claims());
