--
-- Slots, holders, leases and the rest are refused in periods and pools as they are
-- everywhere else, and nothing is written.
--
SELECT set_capacity('moat 2', 5) ->> 'outcome' AS outcome;
SELECT count(*) AS before FROM claims.slot_claims \gset

-- The slot.
SELECT id, call, state, message
  FROM unnest(ARRAY['', 'undefined', ' moat 1', '"moat 1"', NULL]) AS id,
       unnest(ARRAY[$$claim_period(%L, 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z')$$, $$claim_units(%L, 'h1')$$,
                    $$move_period(%L, 'h1', 1, '2031-01-02T09:00Z', '2031-01-02T10:00Z')$$, $$set_capacity(%L, 1)$$,
                    $$check_period(%L, '2031-01-02T09:00Z', '2031-01-02T10:00Z')$$]) AS call,
       refusal('SELECT ' || format(call, id));
SELECT state, message FROM refusal($$SELECT claim_period('2031-01-02'::date, 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z')$$);
SELECT state, message FROM refusal($$SELECT claim_units('2031-01-02 09:00Z'::timestamptz, 'h1')$$);

-- The holder, as when the arguments have slipped (case 9).
SELECT holder, call, state, message
  FROM unnest(ARRAY['', 'undefined', 'h1 ', NULL]) AS holder,
       unnest(ARRAY[$$claim_period('moat 1', %L, '2031-01-02T09:00Z', '2031-01-02T10:00Z')$$, $$claim_units('moat 2', %L)$$,
                    $$move_period('moat 1', %L, 1, '2031-01-02T09:00Z', '2031-01-02T10:00Z')$$]) AS call,
       refusal('SELECT ' || format(call, holder));
SELECT state, message FROM refusal($$SELECT claim_period('moat 1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', 'h1')$$);

-- The rest.
SELECT rest, state, message
  FROM unnest(ARRAY[$$ttl => '0'$$, $$ttl => '-1 s'$$, $$ttl => '2 days'$$, $$wait => '-1 s'$$, $$on_expiry => 'forget'$$, $$on_expiry => NULL$$,
                    $$call_id => 'undefined'$$, $$call_id => ''$$, $$after => NULL$$, $$after => '{}'$$, $$after => '[true]'$$]) AS rest,
       refusal(format($$SELECT claim_period('moat 1', 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z', %s)$$, rest));
SELECT rest, state, message
  FROM unnest(ARRAY[$$ttl => '0'$$, $$wait => '-1 s'$$, $$on_expiry => 'forget'$$, $$call_id => 'undefined'$$, $$after => NULL$$]) AS rest,
       refusal(format($$SELECT claim_units('moat 2', 'h1', %s)$$, rest));
SELECT state, message FROM refusal(format($$SELECT claim_units('moat 2', 'h1', note => to_jsonb(repeat('x', 1100000)))$$));

SELECT count(*) - :before AS written FROM claims.slot_claims;
SELECT taken FROM claims.pools WHERE slot_id = 'moat 2';

-- A number or a uuid names a slot as well as a text does, and arguments may be named.
SELECT claim_period(4801, 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'slot_id' AS slot_id,
       claim_period('6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid, 'h1', '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'slot_id' AS slot_id,
       set_capacity(4802, 2) ->> 'slot_id' AS slot_id, claim_units(4802, 'h1') ->> 'slot_id' AS slot_id,
       check_period(4801, '2031-01-02T09:00Z', '2031-01-02T10:00Z') ->> 'holder' AS holder,
       move_period(4801, 'h1', 1, '2031-01-02T09:30Z', '2031-01-02T10:30Z') ->> 'token' AS token;
SELECT claim_period(slot_id => 'moat 3', holder => 'h1', starts_at => '2031-01-02T09:00Z', ends_at => '2031-01-02T10:00Z', units => NULL, ttl => '1 minute',
                    wait => '0', on_expiry => 'review', note => '{}', call_id => 'c1', after => '{"ok": true}') ->> 'outcome' AS outcome,
       claim_units(slot_id => 'moat 2', holder => 'h1', units => 2, ttl => NULL, wait => NULL, on_expiry => 'release', note => NULL, call_id => NULL) ->> 'outcome' AS outcome,
       claim_many(requests => '[{"slot_id": "moat 4"}]', holder => 'h1') ->> 'outcome' AS outcome,
       move_period(slot_id => 'moat 3', holder => 'h1', token => 1, starts_at => '2031-01-02T11:00Z', ends_at => '2031-01-02T12:00Z') ->> 'outcome' AS outcome,
       confirm_many(claims => '[{"slot_id": "moat 4", "token": 1}]', holder => 'h1', result => '{}') ->> 'outcome' AS outcome,
       create_series(series => 'moat 5', first => 1, label => '{n}', per => 'forever', zone => 'UTC') ->> 'outcome' AS outcome,
       next_number(series => 'moat 5', holder => 'h1', key => 'k', note => '{}') ->> 'outcome' AS outcome,
       void_number(series => 'moat 5', number => 1, reason => 'r', span => NULL) ->> 'outcome' AS outcome;
