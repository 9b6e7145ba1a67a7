--
-- A slot that somebody has claimed as a whole, or a period of it, cannot become a pool;
-- one that is free can. Whoever had it before cannot confirm it late beside the
-- units that have been claimed since.
--
SELECT claim_slot('sofa 1', 'h1', '1 hour') ->> 'outcome' AS outcome;
SELECT facts(set_capacity('sofa 1', 2));
SELECT confirm_slot('sofa 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(set_capacity('sofa 1', 2));
SELECT cancel_slot('sofa 1', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(set_capacity('sofa 1', 2));

SELECT claim_period('sofa 2', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'outcome' AS outcome;
SELECT facts(set_capacity('sofa 2', 2));
SELECT expired_claim('sofa 3', 'h1', 'review');
SELECT facts(set_capacity('sofa 3', 2));
SELECT slot_id, capacity FROM claims.pools WHERE slot_id LIKE 'sofa _';

-- An expired claim is in nobody's way, and comes too late for what follows.
SELECT expired_claim('sofa 4', 'h1');
SELECT facts(set_capacity('sofa 4', 1));
SELECT facts(claim_units('sofa 4', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('sofa 4', 'h1', 1)) -> 'ok' AS ok;
SELECT claim_period('sofa 5', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 ms') ->> 'outcome' AS outcome, pg_sleep(0.02);
SELECT facts(set_capacity('sofa 5', 1));
SELECT facts(claim_units('sofa 5', 'h2')) ->> 'outcome' AS outcome;
SELECT facts(confirm_slot('sofa 5', 'h1', 1)) -> 'ok' AS ok;
SELECT slot_id, token, holder, units FROM claims.active WHERE slot_id IN ('sofa 4', 'sofa 5') ORDER BY 1, 2;

-- The pool is there from then on, also for a claim that had ended before.
SELECT claim_slot('sofa 6', 'h1') ->> 'outcome' AS outcome, release_slot('sofa 6', 'h1', 1) ->> 'outcome' AS outcome;
SELECT facts(set_capacity('sofa 6', 1)) ->> 'outcome' AS outcome;
SELECT answer->'ok' AS ok, answer->>'outcome' = 'busy' AS busy FROM confirm_slot('sofa 6', 'h1', 1) AS answer;
SELECT facts(check_claims());
