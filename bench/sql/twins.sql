-- The same protocol in PL/pgSQL: the same tables, constraints and indexes, the same checks of the input,
-- the same look, lock, look again and write, and the same answer. Written as well as PL/pgSQL can be:
-- every statement's plan is kept, and what can be asked in one expression is. What is rare (a late
-- confirm, a moved period, the words of each error) is left out, which makes the twins no slower.

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

CREATE FUNCTION twin.claim_period(of_slot text, by_holder text, starts_at text, ends_at text, ttl interval = '5 minutes',
                                  on_expiry text = 'release', note jsonb = NULL, call_id text = NULL)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted tstzrange;
    entry twin.slot_claims%ROWTYPE;
    now timestamptz;
    deadline timestamptz;
    last_token bigint;
    previous text;
    under_lock boolean := false;
    moved_on boolean;
BEGIN
    IF NOT twin.is_name(of_slot) OR NOT twin.is_name(by_holder) OR on_expiry NOT IN ('release', 'review')
       OR ttl NOT BETWEEN '1 millisecond' AND '1 day' OR ttl IS NULL
       OR starts_at !~ '(Z|[+-]\d\d(:?\d\d)?)$' OR ends_at !~ '(Z|[+-]\d\d(:?\d\d)?)$'
       OR current_setting('transaction_isolation') <> 'read committed' OR current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    wanted := tstzrange(starts_at::timestamptz, ends_at::timestamptz);
    LOOP
        last_token := 0;
        previous := NULL;
        moved_on := false;
        FOR entry IN
            (SELECT * FROM twin.slot_claims WHERE slot_id = of_slot ORDER BY token DESC LIMIT 1)
            UNION ALL
            SELECT * FROM twin.slot_claims WHERE slot_id = of_slot AND ended_at IS NULL AND period IS NULL AND units IS NULL
            UNION ALL
            SELECT * FROM twin.slot_claims
            WHERE slot_id = of_slot AND ended_at IS NULL AND period && wanted AND units IS NULL
        LOOP
            now := clock_timestamp();
            last_token := greatest(last_token, entry.token);
            CONTINUE WHEN entry.ended_at IS NOT NULL OR NOT coalesce(entry.period && wanted, true);
            IF NOT (entry.status = 'claimed' AND entry.on_expiry = 'release' AND entry.expires_at <= now) THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', false, 'outcome', CASE WHEN entry.holder = by_holder THEN 'already_yours' ELSE 'taken' END,
                    'message', 'That slot was just taken.', 'slot_id', of_slot, 'holder', by_holder,
                    'held_by', entry.holder, 'status', entry.status, 'claimed_at', entry.claimed_at, 'expires_at', entry.expires_at,
                    'starts_at', lower(entry.period), 'ends_at', upper(entry.period)));
            ELSIF under_lock AND NOT moved_on THEN
                UPDATE twin.slot_claims SET status = 'expired', expires_at = NULL, ended_at = now, ended_by = by_holder
                WHERE slot_id = of_slot AND status = 'claimed' AND expires_at = entry.expires_at
                  AND token = (SELECT token FROM twin.slot_claims
                               WHERE slot_id = of_slot AND token = entry.token AND status = 'claimed' AND expires_at = entry.expires_at
                               FOR NO KEY UPDATE SKIP LOCKED);
                moved_on := NOT FOUND;
                previous := entry.holder;
            END IF;
        END LOOP;
        now := clock_timestamp();
        IF NOT under_lock THEN
            IF pg_try_advisory_xact_lock(hashtextextended(of_slot, 0)) THEN
                under_lock := true;
                CONTINUE;
            END IF;
        ELSIF NOT moved_on THEN
            INSERT INTO twin.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry, call_id, note, period)
            SELECT of_slot, last_token + 1, by_holder, 'claimed', now, now + ttl, on_expiry, call_id, note, wanted
            WHERE NOT EXISTS (SELECT FROM twin.pools WHERE slot_id = of_slot)
            ON CONFLICT DO NOTHING;
            IF FOUND THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', true, 'outcome', CASE WHEN previous IS NULL THEN 'claimed' ELSE 'reclaimed' END,
                    'message', 'The slot is yours until the lease ends.', 'slot_id', of_slot, 'holder', by_holder,
                    'token', last_token + 1, 'status', 'claimed', 'claimed_at', now, 'expires_at', now + ttl,
                    'starts_at', lower(wanted), 'ends_at', upper(wanted),
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

CREATE FUNCTION twin.claim_units(of_slot text, by_holder text, wanted integer = 1, ttl interval = '5 minutes',
                                 on_expiry text = 'release', note jsonb = NULL, call_id text = NULL)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pool twin.pools%ROWTYPE;
    own twin.slot_claims%ROWTYPE;
    now timestamptz;
    deadline timestamptz;
    last_token bigint;
    given_back integer;
BEGIN
    IF NOT twin.is_name(of_slot) OR NOT twin.is_name(by_holder) OR on_expiry NOT IN ('release', 'review')
       OR ttl NOT BETWEEN '1 millisecond' AND '1 day' OR ttl IS NULL OR wanted < 1
       OR current_setting('transaction_isolation') <> 'read committed' OR current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    LOOP
        IF pg_try_advisory_xact_lock(hashtextextended(of_slot, 0)) THEN
            SELECT * INTO pool FROM twin.pools WHERE slot_id = of_slot FOR NO KEY UPDATE SKIP LOCKED;
            IF FOUND THEN
                now := clock_timestamp();
                WITH over AS (
                    UPDATE twin.slot_claims SET status = 'expired', expires_at = NULL, ended_at = now, ended_by = by_holder
                    WHERE slot_id = of_slot AND status = 'claimed' AND units IS NOT NULL AND period IS NULL
                      AND slot_claims.on_expiry = 'release' AND expires_at <= now
                    RETURNING units)
                SELECT coalesce(sum(units), 0) INTO given_back FROM over;
                SELECT * INTO own FROM twin.slot_claims
                WHERE slot_id = of_slot AND holder = by_holder AND ended_at IS NULL AND units IS NOT NULL
                  AND (claim_units.call_id IS NULL OR slot_claims.call_id = claim_units.call_id)
                LIMIT 1;
                IF FOUND THEN
                    RETURN jsonb_build_object('ok', false, 'outcome', 'already_yours', 'message', 'You already have this from an earlier call.',
                                              'slot_id', of_slot, 'holder', by_holder, 'token', own.token, 'status', own.status);
                END IF;
                IF pool.capacity - pool.taken + given_back < wanted THEN
                    RETURN jsonb_build_object('ok', false, 'outcome', 'insufficient', 'message', 'There are not that many left.',
                                              'slot_id', of_slot, 'holder', by_holder, 'capacity', pool.capacity,
                                              'available', pool.capacity - pool.taken + given_back);
                END IF;
                SELECT token INTO last_token FROM twin.slot_claims WHERE slot_id = of_slot ORDER BY token DESC LIMIT 1;
                INSERT INTO twin.slot_claims (slot_id, token, holder, status, claimed_at, expires_at, on_expiry, call_id, note, units)
                VALUES (of_slot, coalesce(last_token, 0) + 1, by_holder, 'claimed', now, now + ttl, on_expiry, claim_units.call_id, note, wanted)
                ON CONFLICT DO NOTHING;
                IF FOUND THEN
                    UPDATE twin.pools SET taken = taken + wanted - given_back WHERE slot_id = of_slot;
                    RETURN jsonb_build_object(
                        'ok', true, 'outcome', 'claimed', 'message', 'The slot is yours until the lease ends.',
                        'slot_id', of_slot, 'holder', by_holder, 'token', coalesce(last_token, 0) + 1, 'status', 'claimed',
                        'units', wanted, 'claimed_at', now, 'expires_at', now + ttl,
                        'ttl_ms', (extract(epoch FROM ttl) * 1000)::bigint, 'on_expiry', on_expiry);
                END IF;
            ELSIF NOT EXISTS (SELECT FROM twin.pools WHERE slot_id = of_slot) THEN
                RAISE EXCEPTION 'no such pool' USING ERRCODE = '55000';
            END IF;
        END IF;
        deadline := coalesce(deadline, clock_timestamp() + interval '1 second');
        IF clock_timestamp() > deadline THEN
            RETURN jsonb_build_object('ok', false, 'outcome', 'busy', 'message', 'Somebody is at that slot right now.',
                                      'slot_id', of_slot, 'holder', by_holder, 'retry_after_ms', 1000);
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END
$$;

-- confirm_slot, release_slot, extend_slot and cancel_slot: what they have in common is a macro here, as
-- a function of its own would cost each of them one more call.
DO $do$
DECLARE
    settle text := $settle$
CREATE FUNCTION twin.%1$s(of_slot text, by_holder text, of_token bigint, value %2$s = NULL)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    claim twin.slot_claims%%ROWTYPE;
    now timestamptz;
    deadline timestamptz;
BEGIN
    IF NOT twin.is_name(of_slot) OR NOT twin.is_name(by_holder)
       OR current_setting('transaction_isolation') <> 'read committed' OR current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    LOOP
        IF pg_try_advisory_xact_lock(hashtextextended(of_slot, 0)) THEN
            SELECT * INTO claim FROM twin.slot_claims WHERE slot_id = of_slot AND token = of_token;
            IF NOT FOUND OR %3$s THEN
                RETURN jsonb_build_object('ok', false, 'outcome', 'not_holder', 'message', 'There is no such claim of this holder.',
                                          'slot_id', of_slot, 'holder', by_holder);
            END IF;
            now := clock_timestamp();
            IF NOT (%4$s) THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', false, 'outcome', 'lost', 'message', 'That claim is over.', 'slot_id', of_slot, 'holder', by_holder,
                    'token', of_token, 'status', claim.status, 'claimed_at', claim.claimed_at, 'ended_at', claim.ended_at));
            END IF;
            UPDATE twin.slot_claims SET %5$s
            WHERE slot_id = of_slot AND status = claim.status AND expires_at IS NOT DISTINCT FROM claim.expires_at
              AND token = (SELECT token FROM twin.slot_claims
                           WHERE slot_id = of_slot AND token = of_token AND status = claim.status
                             AND expires_at IS NOT DISTINCT FROM claim.expires_at
                           FOR NO KEY UPDATE SKIP LOCKED)
            RETURNING * INTO claim;
            IF FOUND THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', true, 'outcome', '%6$s', 'message', 'It is done.', 'slot_id', of_slot, 'holder', by_holder, 'token', of_token,
                    'status', claim.status, 'claimed_at', claim.claimed_at, 'expires_at', claim.expires_at,
                    'ended_at', claim.ended_at, 'ended_by', claim.ended_by, 'reason', claim.reason, 'result', claim.result));
            END IF;
        END IF;
        deadline := coalesce(deadline, clock_timestamp() + interval '1 second');
        IF clock_timestamp() > deadline THEN
            RETURN jsonb_build_object('ok', false, 'outcome', 'busy', 'message', 'Somebody is at that slot right now.',
                                      'slot_id', of_slot, 'holder', by_holder, 'retry_after_ms', 1000);
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END
$$ $settle$;
BEGIN
    EXECUTE format(settle, 'confirm_slot', 'jsonb', 'claim.holder <> by_holder', 'claim.ended_at IS NULL',
                   'status = ''booked'', expires_at = NULL, result = coalesce(value, result)', 'confirmed');
    EXECUTE format(settle, 'release_slot', 'text', 'claim.holder <> by_holder', 'claim.status = ''claimed''',
                   'status = ''released'', expires_at = NULL, ended_at = now, ended_by = by_holder, reason = coalesce(value, reason)', 'released');
    EXECUTE format(settle, 'extend_slot', 'interval', 'claim.holder <> by_holder', 'claim.status = ''claimed'' AND claim.expires_at > now',
                   'expires_at = greatest(expires_at, now + coalesce(value, ''5 minutes''))', 'extended');
    EXECUTE format(settle, 'cancel_slot', 'text', 'false', 'claim.status = ''booked''',
                   'status = ''cancelled'', ended_at = now, ended_by = by_holder, reason = coalesce(value, reason)', 'cancelled');
END
$do$;

CREATE FUNCTION twin.check_slot(of_slot text)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last twin.slot_claims%ROWTYPE;
    now timestamptz;
BEGIN
    IF NOT twin.is_name(of_slot) THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    SELECT * INTO last FROM twin.slot_claims WHERE slot_id = of_slot ORDER BY token DESC LIMIT 1;
    now := clock_timestamp();
    IF last.token IS NULL THEN
        RETURN jsonb_build_object('ok', true, 'outcome', 'absent', 'message', 'Nobody has ever claimed that slot.', 'slot_id', of_slot, 'status', 'free');
    ELSIF last.ended_at IS NOT NULL OR last.status = 'claimed' AND last.on_expiry = 'release' AND last.expires_at <= now THEN
        RETURN jsonb_build_object('ok', true, 'outcome', 'free', 'message', 'The slot is free.', 'slot_id', of_slot, 'status', 'free');
    END IF;
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'ok', false, 'outcome', last.status, 'message', 'Somebody has that slot.', 'slot_id', of_slot, 'holder', last.holder,
        'token', last.token, 'status', last.status, 'claimed_at', last.claimed_at, 'expires_at', last.expires_at,
        'remaining_ms', (extract(epoch FROM last.expires_at - now) * 1000)::bigint, 'result', last.result,
        'hint', format('SELECT release_slot(%L, %L, %s)', of_slot, last.holder, last.token)));
END
$$;

CREATE FUNCTION twin.holds_slot(of_slot text, by_holder text, of_token bigint)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT twin.is_name(of_slot) OR NOT twin.is_name(by_holder)
       OR current_setting('transaction_isolation') <> 'read committed' OR current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    PERFORM FROM twin.slot_claims
    WHERE slot_id = of_slot AND token = of_token AND holder = by_holder AND status = 'claimed' AND expires_at > clock_timestamp()
    FOR NO KEY UPDATE SKIP LOCKED;
    RETURN FOUND;
END
$$;

CREATE FUNCTION twin.begin_key(of_key text, by_holder text, request jsonb = NULL, lease interval = '5 minutes', of_call text = NULL)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    entry twin.keys%ROWTYPE;
    print bytea := sha256(convert_to(request::text, 'UTF8'));
    now timestamptz;
    deadline timestamptz;
    under_lock boolean := false;
BEGIN
    IF NOT twin.is_name(of_key) OR NOT twin.is_name(by_holder) OR lease NOT BETWEEN '1 millisecond' AND '1 day' OR lease IS NULL
       OR current_setting('transaction_isolation') <> 'read committed' OR current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    LOOP
        SELECT * INTO entry FROM twin.keys WHERE key = of_key;
        now := clock_timestamp();
        IF entry.key IS NOT NULL THEN
            IF entry.fingerprint <> print THEN
                RETURN jsonb_build_object('ok', false, 'outcome', 'mismatch', 'message', 'That key was used for another request.',
                                          'key', of_key, 'holder', by_holder, 'status', entry.status);
            ELSIF entry.status IN ('done', 'rejected') THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', false, 'outcome', 'replay', 'message', 'It was done already; here is its result.', 'key', of_key,
                    'holder', by_holder, 'status', entry.status, 'attempt', entry.attempt, 'started_at', entry.started_at,
                    'finished_at', entry.finished_at, 'result', entry.result));
            ELSIF entry.status = 'pending' AND entry.lease_expires_at > now THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', false, 'outcome', 'wait', 'message', 'Somebody is at it right now.', 'key', of_key, 'holder', by_holder,
                    'status', entry.status, 'attempt', entry.attempt, 'started_at', entry.started_at,
                    'expires_at', entry.lease_expires_at, 'held_by', entry.holder));
            END IF;
        END IF;
        IF NOT under_lock THEN
            IF pg_try_advisory_xact_lock(hashtextextended(of_key, 1)) THEN
                under_lock := true;
                CONTINUE;
            END IF;
        ELSIF entry.key IS NULL THEN
            INSERT INTO twin.keys (key, status, holder, token, attempt, fingerprint, started_at, lease_expires_at, call_id)
            VALUES (of_key, 'pending', by_holder, 1, 1, print, now, now + lease, of_call)
            ON CONFLICT DO NOTHING;
            IF FOUND THEN
                RETURN jsonb_build_object(
                    'ok', true, 'outcome', 'run', 'message', 'Go on: nobody else will.', 'key', of_key, 'holder', by_holder,
                    'token', 1, 'status', 'pending', 'attempt', 1, 'started_at', now, 'expires_at', now + lease,
                    'lease_ms', (extract(epoch FROM lease) * 1000)::bigint);
            END IF;
        ELSE
            UPDATE twin.keys
            SET status = 'pending', holder = by_holder, token = token + 1, attempt = attempt + (status = 'failed')::integer,
                verifying = (status = 'pending'), fingerprint = coalesce(print, fingerprint), started_at = now,
                lease_expires_at = now + lease, finished_at = NULL, finished_by = NULL, reason = NULL, call_id = of_call, result = NULL
            WHERE key = of_key AND token = entry.token AND status = entry.status AND lease_expires_at = entry.lease_expires_at
            RETURNING * INTO entry;
            IF FOUND THEN
                RETURN jsonb_build_object(
                    'ok', NOT entry.verifying, 'outcome', CASE WHEN entry.verifying THEN 'verify' ELSE 'run' END, 'message', 'Go on.',
                    'key', of_key, 'holder', by_holder, 'token', entry.token, 'status', entry.status, 'attempt', entry.attempt,
                    'started_at', now, 'expires_at', now + lease, 'lease_ms', (extract(epoch FROM lease) * 1000)::bigint);
            END IF;
        END IF;
        deadline := coalesce(deadline, now + interval '1 second');
        IF now > deadline THEN
            RETURN jsonb_build_object('ok', false, 'outcome', 'wait', 'message', 'Somebody is at it right now.',
                                      'key', of_key, 'holder', by_holder, 'retry_after_ms', 1000);
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END
$$;

CREATE FUNCTION twin.finish_key(of_key text, by_holder text, of_token bigint, with_result jsonb = NULL, outcome text = 'done')
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    entry twin.keys%ROWTYPE;
    now timestamptz;
    deadline timestamptz;
BEGIN
    IF NOT twin.is_name(of_key) OR NOT twin.is_name(by_holder) OR outcome NOT IN ('done', 'failed', 'rejected')
       OR current_setting('transaction_isolation') <> 'read committed' OR current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    LOOP
        IF pg_try_advisory_xact_lock(hashtextextended(of_key, 1)) THEN
            SELECT * INTO entry FROM twin.keys WHERE key = of_key;
            IF NOT FOUND OR entry.token <> of_token OR entry.holder <> by_holder OR entry.status <> 'pending' THEN
                RETURN jsonb_build_object(
                    'ok', coalesce(entry.token = of_token, false), 'outcome',
                    CASE WHEN entry.key IS NULL THEN 'absent' WHEN entry.token <> of_token THEN 'lost'
                         WHEN entry.holder <> by_holder THEN 'not_holder' ELSE 'already_finished' END,
                    'message', 'There is nothing to finish.', 'key', of_key, 'holder', by_holder, 'token', entry.token,
                    'status', entry.status, 'attempt', entry.attempt, 'started_at', entry.started_at, 'finished_at', entry.finished_at);
            END IF;
            now := clock_timestamp();
            UPDATE twin.keys SET status = outcome, finished_at = now, finished_by = by_holder, result = coalesce(with_result, 'null')
            WHERE token = of_token AND status = 'pending' AND lease_expires_at = entry.lease_expires_at
              AND key = (SELECT key FROM twin.keys
                         WHERE key = of_key AND token = of_token AND status = 'pending' AND lease_expires_at = entry.lease_expires_at
                         FOR NO KEY UPDATE SKIP LOCKED);
            IF FOUND THEN
                RETURN jsonb_strip_nulls(jsonb_build_object(
                    'ok', true, 'outcome', outcome, 'message', 'It is done.', 'key', of_key, 'holder', by_holder, 'token', of_token,
                    'status', outcome, 'attempt', entry.attempt, 'started_at', entry.started_at, 'finished_at', now, 'result', with_result));
            END IF;
        END IF;
        deadline := coalesce(deadline, clock_timestamp() + interval '1 second');
        IF clock_timestamp() > deadline THEN
            RETURN jsonb_build_object('ok', false, 'outcome', 'busy', 'message', 'Somebody is at that key right now.',
                                      'key', of_key, 'holder', by_holder, 'retry_after_ms', 1000);
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END
$$;

CREATE FUNCTION twin.check_key(of_key text)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    entry twin.keys%ROWTYPE;
BEGIN
    IF NOT twin.is_name(of_key) THEN
        RAISE EXCEPTION 'bad input' USING ERRCODE = '22023';
    END IF;
    SELECT * INTO entry FROM twin.keys WHERE key = of_key;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('ok', true, 'outcome', 'absent', 'message', 'Nobody has ever begun that.', 'key', of_key);
    END IF;
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'ok', entry.status = 'failed', 'message', 'Somebody has begun that.', 'key', of_key, 'holder', entry.holder, 'token', entry.token,
        'outcome', CASE WHEN entry.status = 'pending' AND entry.lease_expires_at <= clock_timestamp() THEN 'overdue' ELSE entry.status END,
        'status', entry.status, 'attempt', entry.attempt, 'started_at', entry.started_at, 'finished_at', entry.finished_at,
        'expires_at', CASE WHEN entry.status = 'pending' THEN entry.lease_expires_at END,
        'remaining_ms', CASE WHEN entry.status = 'pending'
                             THEN (extract(epoch FROM entry.lease_expires_at - clock_timestamp()) * 1000)::bigint END,
        'result', entry.result));
END
$$;
