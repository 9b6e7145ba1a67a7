-- The same protocol in PL/pgSQL: the same tables, constraints and indexes, the same checks of the input,
-- the same look, lock, look again and write, and the same answer. Written as well as PL/pgSQL can be:
-- every statement's plan is kept, and what can be asked in one expression is.

CREATE SCHEMA twin;
CREATE TABLE twin.slot_claims (LIKE claims.slot_claims INCLUDING ALL);
CREATE TABLE twin.pools (LIKE claims.pools INCLUDING ALL);
CREATE TABLE twin.keys (LIKE claims.keys INCLUDING ALL);

-- Inlined by the planner wherever it is used.
CREATE FUNCTION twin.is_name(name text) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN name IS NOT NULL AND octet_length(name) BETWEEN 1 AND 500 AND name !~ '^[[:space:]"]|[[:space:]"]$|[[:cntrl:]]'
    AND name <> ALL ('{undefined,null,NaN,"[object Object]",__UNKNOWN__,"Invalid Date"}');

CREATE FUNCTION twin.claim_slot(
    of_slot text, by_holder text, ttl interval = '5 minutes', on_expiry text = 'release', note jsonb = NULL, call_id text = NULL)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last twin.slot_claims%ROWTYPE;
    now timestamptz;
    deadline timestamptz;
    previous text;
    under_lock boolean := false;
BEGIN
    IF NOT twin.is_name(of_slot) OR NOT twin.is_name(by_holder) OR on_expiry NOT IN ('release', 'review')
       OR ttl NOT BETWEEN '1 millisecond' AND '1 day' OR ttl IS NULL
       OR current_setting('transaction_isolation') <> 'read committed' OR current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    LOOP
        SELECT * INTO last FROM twin.slot_claims WHERE slot_id = of_slot ORDER BY token DESC LIMIT 1;
        now := clock_timestamp();
        IF last.ended_at IS NULL AND last.token IS NOT NULL
           AND NOT (last.status = 'claimed' AND last.on_expiry = 'release' AND last.expires_at <= now) THEN
            IF last.holder = by_holder THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', last.call_id IS NOT NULL AND last.call_id IS NOT DISTINCT FROM call_id,
                    'outcome', CASE WHEN last.call_id IS NOT DISTINCT FROM call_id AND call_id IS NOT NULL THEN 'claimed' ELSE 'already_yours' END,
                    'message', 'You already have this from an earlier call.', 'slot_id', of_slot, 'holder', by_holder, 'token', last.token,
                    'status', last.status, 'claimed_at', last.claimed_at, 'expires_at', last.expires_at));
            END IF;
            RETURN jsonb_strip_nulls(jsonb_build_object(
                'ok', false, 'outcome', 'taken', 'message', 'That slot was just taken.', 'slot_id', of_slot, 'holder', by_holder,
                'held_by', last.holder, 'status', last.status, 'claimed_at', last.claimed_at, 'expires_at', last.expires_at,
                'retry_after_ms', (extract(epoch FROM last.expires_at - now) * 1000)::bigint));
        END IF;
        IF NOT under_lock THEN
            IF pg_try_advisory_xact_lock(hashtextextended(of_slot, 0)) THEN
                under_lock := true;
                CONTINUE;
            END IF;
        ELSE
            previous := NULL;
            IF last.ended_at IS NULL AND last.token IS NOT NULL THEN
                UPDATE twin.slot_claims SET status = 'expired', expires_at = NULL, ended_at = now, ended_by = by_holder
                WHERE slot_id = of_slot AND status = last.status AND expires_at IS NOT DISTINCT FROM last.expires_at
                  AND token = (SELECT token FROM twin.slot_claims
                               WHERE slot_id = of_slot AND token = last.token AND status = last.status
                                 AND expires_at IS NOT DISTINCT FROM last.expires_at
                               FOR NO KEY UPDATE SKIP LOCKED);
                CONTINUE WHEN NOT FOUND;
                previous := last.holder;
            END IF;
            INSERT INTO twin.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry, call_id, note)
            SELECT of_slot, coalesce(last.token, 0) + 1, by_holder, 'claimed', now, now + ttl, on_expiry, call_id, note
            WHERE NOT EXISTS (SELECT FROM twin.pools WHERE slot_id = of_slot)
            ON CONFLICT DO NOTHING;
            IF FOUND THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', true, 'outcome', CASE WHEN previous IS NULL THEN 'claimed' ELSE 'reclaimed' END,
                    'message', 'The slot is yours until the lease ends.', 'slot_id', of_slot, 'holder', by_holder,
                    'token', coalesce(last.token, 0) + 1, 'status', 'claimed', 'claimed_at', now, 'expires_at', now + ttl,
                    'ttl_ms', (extract(epoch FROM ttl) * 1000)::bigint, 'on_expiry', on_expiry, 'previous_holder', previous));
            END IF;
        END IF;
        deadline := coalesce(deadline, now + interval '1 second');
        IF now > deadline THEN
            RETURN jsonb_build_object('ok', false, 'outcome', 'busy', 'message', 'Somebody is at that slot right now.',
                                      'slot_id', of_slot, 'holder', by_holder, 'retry_after_ms', 1000);
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END
$$;
