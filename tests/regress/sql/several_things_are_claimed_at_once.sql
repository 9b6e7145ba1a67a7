--
-- claim_many takes slots, periods and units together, all of them or none, under
-- one answer with a token for each.
--
SELECT set_capacity('projector', 3) ->> 'outcome' AS outcome;
SELECT facts(answer) - 'claims' FROM claim_many('[{"slot_id": "room 21", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                                                  {"slot_id": "person 21"},
                                                  {"slot_id": "projector", "units": 2}]',
                                                'h1', '1 hour', on_expiry => 'review', note => '{"for": "Ann"}', call_id => 'c1') AS answer;
SELECT token, holder, status, units, on_expiry, call_id, note, expires_at - claimed_at AS lease, slot_id
  FROM claims.slot_claims WHERE slot_id IN ('room 21', 'person 21', 'projector') ORDER BY slot_id;
SELECT taken FROM claims.pools WHERE slot_id = 'projector';

-- Repeated with its call_id it is told again; without, it is refused.
SELECT facts(one) FROM claim_many('[{"slot_id": "room 21", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                                    {"slot_id": "person 21"}, {"slot_id": "projector", "units": 2}]', 'h1', call_id => 'c1') AS answer,
       jsonb_array_elements(answer->'claims') AS one;
SELECT facts(answer) - 'claims' AS answer
  FROM claim_many('[{"slot_id": "room 21", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                    {"slot_id": "person 21"}, {"slot_id": "projector", "units": 2}]', 'h1', call_id => 'c1') AS answer;
SELECT facts(claim_many('[{"slot_id": "room 21", "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                          {"slot_id": "person 21"}, {"slot_id": "projector", "units": 2}]', 'h1'));
SELECT taken FROM claims.pools WHERE slot_id = 'projector';

-- One thing alone comes as a list too, so that it can be passed on in the same way.
SELECT facts(one) FROM claim_many('[{"slot_id": "person 22"}]', 'h1') AS answer, jsonb_array_elements(answer->'claims') AS one;
SELECT facts(confirm_many(claim_many('[{"slot_id": "person 28"}]', 'h1') -> 'claims', 'h1')) ->> 'outcome' AS outcome;

-- A slot may be named by a number, and what expired there is taken over.
SELECT facts(claim_many('[{"slot_id": 4711}]', 'h1')) ->> 'outcome' AS outcome;
SELECT slot_id, token, holder FROM claims.slot_claims WHERE slot_id = '4711';
SELECT expired_claim('person 23', 'h1');
SELECT facts(one) FROM claim_many('[{"slot_id": "person 23"}, {"slot_id": "person 24"}]', 'h2') AS answer,
       jsonb_array_elements(answer->'claims') AS one;

-- Units of one pool are added up; of one time too.
SELECT set_capacity('cable', 5) ->> 'outcome' AS outcome;
SELECT facts(claim_many('[{"slot_id": "cable", "units": 2}, {"slot_id": "cable", "units": 3}, {"slot_id": "cable", "units": 1}]', 'h1'));
SELECT facts(claim_many('[{"slot_id": "cable", "units": 2}, {"slot_id": "cable", "units": 3}]', 'h1')) ->> 'outcome' AS outcome;
SELECT token, units FROM claims.slot_claims WHERE slot_id = 'cable';
SELECT set_capacity('cable 2', 5) ->> 'outcome' AS outcome;
SELECT facts(claim_many('[{"slot_id": "cable 2", "units": 2, "starts_at": "2031-01-02T09:00Z", "ends_at": "2031-01-02T10:00Z"},
                          {"slot_id": "cable 2", "units": 2, "starts_at": "2031-01-02T10:00+01:00", "ends_at": "2031-01-02T11:00+01:00"}]', 'h1'))
       ->> 'outcome' AS outcome;
SELECT token, units FROM claims.slot_claims WHERE slot_id = 'cable 2';

-- A thousand at once.
SELECT answer->>'outcome' AS outcome, jsonb_array_length(answer->'claims') AS claims
  FROM claim_many((SELECT jsonb_agg(jsonb_build_object('slot_id', 'nook 3/' || n)) FROM generate_series(1, 1000) AS n), 'h1') AS answer;
SELECT count(*) FROM claims.active WHERE slot_id ~ '^nook 3/\d+$';

-- After another answer, and only then.
SELECT facts(answer) - 'after' AS answer
  FROM claim_many('[{"slot_id": "person 25"}, {"slot_id": "person 26"}]', 'h1', after => claim_slot('person 22', 'h2')) AS answer;
SELECT facts(answer) - 'claims' - 'after' AS answer, answer #>> '{after,outcome}' AS after
  FROM claim_many('[{"slot_id": "person 25"}, {"slot_id": "person 26"}]', 'h1', after => begin_key('order 25', 'h1')) AS answer;
SELECT facts(answer) - 'after' AS answer
  FROM claim_many('[{"slot_id": "person 26"}, {"slot_id": "person 27"}]', 'h2', after => begin_key('order 26', 'h2')) AS answer;
SELECT key, status FROM claims.keys WHERE key IN ('order 25', 'order 26') ORDER BY 1;
SELECT facts(check_claims());
