--
-- The very call, repeated after its answer was lost, gets that answer again
-- while its lease runs.
--
SELECT begin_key('slip 1', 'h1', '{"a": 1}', '1 hour', '81:0:0') AS first \gset
SELECT begin_key('slip 1', 'h1', '{"a": 1}', '1 hour', '81:0:0') AS again \gset
SELECT facts(:'first');
SELECT facts(:'again');
SELECT :'again'::jsonb - 'replayed' = :'first'::jsonb AS the_same_answer;
SELECT facts(begin_key('slip 1', 'h1', call_id => '81:0:1')) ->> 'outcome' AS another_call;
SELECT facts(begin_key('slip 1', 'h2', call_id => '81:0:0')) ->> 'outcome' AS another_holder;
SELECT facts(begin_key('slip 1', 'h1', '{"a": 2}', call_id => '81:0:0')) ->> 'outcome' AS another_request;

-- The whole decision, repeated.
SELECT facts(claim_slot('slip 2', 'h1', '1 hour', call_id => '82:0:0', after => begin_key('slip 2', 'h1', call_id => '82:0:0'))) AS facts \gset
SELECT :'facts'::jsonb - 'after' AS claim;
SELECT facts(claim_slot('slip 2', 'h1', '1 hour', call_id => '82:0:0', after => begin_key('slip 2', 'h1', call_id => '82:0:0'))) AS facts \gset
SELECT :'facts'::jsonb - 'after' AS claim;
SELECT facts(check_key('slip 2')) ->> 'outcome' AS outcome;
