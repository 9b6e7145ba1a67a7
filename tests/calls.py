"""One call of every function of the extension, for the tests that do something to each of them.

SETUP makes what they need; in the order of CALLS each of them has something to do.
"""

SETUP = """
    CREATE TABLE customers (id int PRIMARY KEY, name text, plan text);
    CREATE TABLE orders (id int PRIMARY KEY, state text);
    INSERT INTO customers VALUES (1, 'Ann', 'free');
    SELECT track_rows('customers');
    SELECT claim_slot('kept', 'run', ttl => '1 h'), claim_slot('given back', 'run', ttl => '1 h'),
           claim_slot('extended', 'run', ttl => '1 h'), claim_slot('cancelled', 'run', ttl => '1 h'),
           claim_slot('in doubt', 'run', ttl => '1 h'), claim_slot('fenced', 'run', ttl => '1 h'),
           claim_slot('of the dead', 'dead run', ttl => '1 h'), claim_slot('left', 'run', ttl => '1 ms'),
           claim_period('moved', 'run', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 h'),
           claim_many('[{"slot_id": "both 1"}, {"slot_id": "both 2"}, {"slot_id": "both 3"}, {"slot_id": "both 4"}]', 'run', ttl => '1 h'),
           begin_key('finished', 'run'), begin_key('extended', 'run'), begin_key('reset', 'run'),
           set_capacity('pool', 100), create_series('numbers');
    SELECT claim_units('pool', 'buyer', 1, ttl => '1 h'), confirm_slot('cancelled', 'run', 1), release_slot('in doubt', 'run', 1, in_doubt => true), next_number('numbers', 'run');
"""

# What only looks: works on a standby and in a read-only transaction.
LOOKING = {
    "check_slot": "check_slot('kept')",
    "check_period": "check_period('moved', '2031-01-02T09:00Z', '2031-01-02T10:00Z')",
    "free_periods": "free_periods('moved', '2031-01-02T08:00Z', '2031-01-02T12:00Z', '30 min')",
    "check_key": "check_key('finished')",
    "check_claims": "check_claims()",
    "read_row": "read_row('customers', 1)",
}

WRITING = {
    "claim_slot": "claim_slot('new', 'run', ttl => '1 h')",
    "claim_period": "claim_period('new period', 'run', '2031-01-02T09:00Z', '2031-01-02T10:00Z', ttl => '1 h')",
    "claim_units": "claim_units('pool', 'run', 1, ttl => '1 h')",
    "claim_many": """claim_many('[{"slot_id": "many 1"}, {"slot_id": "many 2"}]', 'run', ttl => '1 h')""",
    "confirm_slot": "confirm_slot('kept', 'run', 1)",
    "release_slot": "release_slot('given back', 'run', 1)",
    "extend_slot": "extend_slot('extended', 'run', 1, '2 h')",
    "cancel_slot": "cancel_slot('cancelled', 'desk', 1)",
    "resolve_slot": "resolve_slot('in doubt', 'run', 1, 'booked')",
    "move_period": "move_period('moved', 'run', 1, '2031-01-02T09:30Z', '2031-01-02T10:30Z')",
    "confirm_many": """confirm_many('[{"slot_id": "both 1", "token": 1}, {"slot_id": "both 2", "token": 1}]', 'run')""",
    "release_many": """release_many('[{"slot_id": "both 3", "token": 1}, {"slot_id": "both 4", "token": 1}]', 'run')""",
    "holds_slot": "holds_slot('fenced', 'run', 1)",
    "require_slot": "require_slot('fenced', 'run', 1)",
    "release_holder": "release_holder('dead run')",
    "set_capacity": "set_capacity('pool', 200)",
    "begin_key": "begin_key('new', 'run')",
    "finish_key": "finish_key('finished', 'run', 1)",
    "extend_key": "extend_key('extended', 'run', 1, '2 h')",
    "reset_key": "reset_key('reset', 'desk')",
    "create_series": "create_series('more numbers')",
    "next_number": "next_number('numbers', 'run')",
    "void_number": "void_number('numbers', 1)",
    "track_rows": "track_rows('orders')",
    "patch_row": """patch_row('customers', 1, 1, '{"plan": "pro"}', 'billing')""",
    "own_fields": "own_fields('customers', 'billing', ARRAY['plan'])",
    "disown_fields": "disown_fields('customers', 'billing')",
    "untrack_rows": "untrack_rows('orders')",
    "reap_stale_claims": "reap_stale_claims()",
}

CALLS = WRITING | LOOKING
