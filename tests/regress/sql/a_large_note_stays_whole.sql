--
-- A note or a result that PostgreSQL stores out of line comes back whole, and is carried
-- from one version of the row to the next.
--
CREATE FUNCTION large(seed text, kilobytes int) RETURNS jsonb LANGUAGE sql AS $$
  SELECT to_jsonb(string_agg(md5(seed || n), '')) FROM generate_series(1, kilobytes * 32) AS n
$$;
SELECT kilobytes, string_agg(answer ->> 'outcome', ', ' ORDER BY n)
  FROM unnest(ARRAY[1, 3, 8, 100, 900]) AS kilobytes,
       LATERAL unnest(ARRAY[
         claim_slot('large ' || kilobytes, 'h1', note => large('note', kilobytes), on_expiry => 'review'),
         extend_slot('large ' || kilobytes, 'h1', ttl => '1 hour'),
         release_slot('large ' || kilobytes, 'h1', reason => 'a timeout', in_doubt => true),
         resolve_slot('large ' || kilobytes, 'h1', 1, 'booked', large('result', kilobytes)),
         begin_key('large ' || kilobytes, 'h1'),
         finish_key('large ' || kilobytes, 'h1', 1, large('key', kilobytes))
       ]) WITH ORDINALITY AS call (answer, n)
 GROUP BY kilobytes ORDER BY kilobytes;
SELECT slot_id, confirm_slot(slot_id, 'h1', 1) -> 'result' = large('result', kilobytes) AS told,
       begin_key(slot_id, 'h2') -> 'result' = large('key', kilobytes) AS replayed
  FROM unnest(ARRAY[1, 3, 8, 100, 900]) AS kilobytes, format('large %s', kilobytes) AS slot_id;
VACUUM FULL claims.slot_claims, claims.keys;
SELECT slot_id, facts(cancel_slot(slot_id, 'desk', 1)) ->> 'outcome' AS outcome,
       facts(reset_key(slot_id, 'desk')) ->> 'outcome' AS outcome
  FROM unnest(ARRAY[1, 3, 8, 100, 900]) AS kilobytes, format('large %s', kilobytes) AS slot_id;
SELECT slot_id, status, note = large('note', kilobytes) AS note, result = large('result', kilobytes) AS result
  FROM claims.slot_claims, CAST(substr(slot_id, 7) AS int) AS kilobytes WHERE slot_id LIKE 'large %' ORDER BY kilobytes;
DROP FUNCTION large;
