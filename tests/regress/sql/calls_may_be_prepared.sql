--
-- A prepared call works with parameters of known and of unknown type, and on
-- every execution, when the plan has become a generic one as well.
--
PREPARE untyped AS SELECT facts(claim_slot($1, $2));
EXECUTE untyped('pier 1', 'h1');
EXECUTE untyped('pier 1', 'h2');

PREPARE of_text(text, text) AS SELECT facts(claim_slot($1, $2));
EXECUTE of_text('pier 1', 'h2');
EXECUTE of_text(72001, 'h1');

PREPARE of_int(int, text) AS SELECT facts(claim_slot($1, $2));
EXECUTE of_int(72001, 'h2');
PREPARE of_bigint(bigint, text) AS SELECT facts(claim_slot($1, $2));
EXECUTE of_bigint(72001, 'h2');
PREPARE of_numeric(numeric, text) AS SELECT facts(claim_slot($1, $2));
EXECUTE of_numeric(72001, 'h2');
PREPARE of_uuid(uuid, text) AS SELECT facts(claim_slot($1, $2));
EXECUTE of_uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'h1');
EXECUTE of_uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'h2');
PREPARE of_varchar(varchar, varchar) AS SELECT facts(claim_slot($1, $2));
EXECUTE of_varchar('pier 1', 'h2');

PREPARE named(text, text, interval) AS
  SELECT facts(claim_slot(slot_id => $1, holder => $2, ttl => $3, note => NULL));
EXECUTE named('pier 2', 'h1', '1 hour');
EXECUTE named('pier 2', 'h2', NULL);
EXECUTE named(NULL, 'h2', NULL);

PREPARE everything AS SELECT facts(claim_slot($1, $2, $3, $4, $5, $6, $7, $8));
EXECUTE everything('pier 3', 'h1', '1 hour', '0', 'release', '{"a": 1}', 'call 1', '{"ok": true}');

-- Twelve executions: from the sixth on the plan may be a generic one.
PREPARE a_round AS
  SELECT claim_slot('pier 4', $1)->>'outcome' AS claim, confirm_slot('pier 4', $1, $2)->>'outcome' AS confirm,
         cancel_slot('pier 4', $1, $2)->>'outcome' AS cancel;
SET plan_cache_mode = force_generic_plan;
EXECUTE a_round('h1', 1);
EXECUTE a_round('h1', 2);
RESET plan_cache_mode;
EXECUTE a_round('h1', 3);
EXECUTE a_round('h1', 4);
EXECUTE a_round('h1', 5);
EXECUTE a_round('h1', 6);
EXECUTE a_round('h1', 7);
EXECUTE a_round('h1', 8);

-- The other functions.
PREPARE confirm_it AS SELECT facts(confirm_slot($1, $2, $3, $4));
EXECUTE confirm_it('pier 1', 'h1', 1, NULL);
PREPARE check_it AS SELECT facts(check_slot($1));
EXECUTE check_it('pier 1');
PREPARE release_it AS SELECT facts(release_slot($1, $2, $3));
EXECUTE release_it('pier 2', 'h1', 1);
PREPARE extend_it(text, text, bigint) AS SELECT facts(extend_slot($1, $2, $3));
EXECUTE extend_it('pier 3', 'h1', 1);
PREPARE holds_it AS SELECT holds_slot($1, $2, $3);
EXECUTE holds_it('pier 3', 'h1', 1);
PREPARE cancel_it AS SELECT facts(cancel_slot($1, $2, $3));
EXECUTE cancel_it('pier 1', 'h1', 1);
PREPARE holder_it AS SELECT facts(release_holder($1)) ->> 'outcome' AS outcome;
EXECUTE holder_it('nobody at the piers');

DEALLOCATE ALL;
