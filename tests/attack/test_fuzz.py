"""A million texts, into every text argument of every function: an answer or an error that says what was wrong."""

import math
import os
import random
import re
import threading
import time
from pathlib import Path

from calls import SETUP
from catalog import call as call_of, functions, let_in

INPUTS = int(os.environ.get("INPUTS", 1_000_000))
SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))
SESSIONS = 2
BATCH = 100
# How a text gets into an argument of each type, and whether every error is then the extension's own.
WAYS = {
    "text": (("input", True),),
    "anycompatible": (("input", True),),
    "text[]": (("ARRAY[input]", True), ("ARRAY['plan', input, NULL]", True)),
    "jsonb": (
        ("to_jsonb(input)", True), ("jsonb_build_array(input)", True), ("jsonb_build_object(input, input)", True),
        ("jsonb_build_object('ok', true, 'outcome', input, input, 1)", True), ("jsonb_build_array(jsonb_build_object('slot_id', input, 'token', 1))", True),
        ("jsonb_build_array(jsonb_build_object('slot_id', 'x', 'starts_at', input, 'ends_at', input, 'units', input))", True), ("input::jsonb", False),
    ),
}
WORDS = (
    "undefined", "null", "NaN", "[object Object]", "Infinity", "-infinity", "epoch", "now", "kept", "run", "numbers", "customers", "plan", "version", "id", "booked", "released",
    "done", "failed", "rejected", "unknown", "release", "review", "year", "month", "forever", "all", "patches", "UTC", "Europe/Berlin", "INV-{yyyy}-{n:05}", "{n}", "{n:99999999999}",
    "{", "}", "{{n}}", "{n:}", "2031-01-02T09:00Z", "2031-01-02T09:00:00+02:00", "294276-12-31T23:59:59Z", "4713-01-01 BC", "0000-00-00", "24:00", "-1", "0", "1", "9223372036854775808",
    "1e400", "0x1f", "'", "\"", "\\", ";", "--", "/*", "$1", "%s", "{\"ok\": true}", "[]", "[{}]", "{\"slot_id\": 1}", "", "\u0001", "\t", "\n", "\u00a0", "\u200b",
    "\u202e", "\ufeff", "\ufffd", "\ufffe", "\u0301", "\u00df", "\u0130", "\U0001f4c5", "\U0010ffff",
)
TOLD = """
    CREATE TEMP TABLE told (template text, state text, detail boolean, hint boolean, message text, input text, count bigint,
                            UNIQUE (template, state, detail, hint))
"""
# One function for each way in, so that the call is planned once.
ATTACK = """
    CREATE FUNCTION pg_temp.attack_{number}(inputs text[]) RETURNS void LANGUAGE plpgsql AS $function$
    DECLARE
        input text;
        answer jsonb;
        state text;
        message text;
        detail text;
        hint text;
    BEGIN
        FOREACH input IN ARRAY inputs LOOP
            BEGIN
                state := 'answer';
                answer := to_jsonb({call});
                message := answer::text;
                detail := CASE WHEN answer = 'true' OR answer = 'false' OR answer ? 'ok' AND answer ? 'outcome' AND answer ? 'message' THEN 'well formed' ELSE '' END;
                hint := '';
            EXCEPTION WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
            END;
            INSERT INTO told AS t VALUES ($call${call}$call$, state, detail <> '', hint <> '', message || ' ' || detail, input, 1)
                ON CONFLICT ON CONSTRAINT told_template_state_detail_hint_key DO UPDATE SET count = t.count + 1;
        END LOOP;
    END
    $function$
"""
# What a text must never come to: an internal error, a lost connection, a statement that was not understood.
NEVER = ("XX", "08", "57", "58")
NEVER_OF_42 = ("42601", "42883", "42P01", "42P02", "42804", "42725")


def text(chance):
    """A word, several run together, one with a few letters changed, or anything."""
    kind = chance.random()
    if kind < 0.3:
        return chance.choice(WORDS)
    if kind < 0.5:
        return "".join(chance.choices(WORDS, k=chance.randint(2, 6)))
    if kind < 0.8:
        letters = list(chance.choice(WORDS))
        for _ in range(chance.randint(1, 4)):
            place = chance.randint(0, len(letters))
            letters[place : place + chance.randint(0, 2)] = [letter(chance)] * chance.randint(0, 2)
        return "".join(letters)
    if kind < 0.99:
        return "".join(letter(chance) for _ in range(chance.randint(0, 40)))
    return letter(chance) * chance.choice((500, 501, 1000, 5000))


def letter(chance):
    kind = chance.random()
    if kind < 0.6:
        return chr(chance.randint(0x20, 0x7E))
    if kind < 0.7:
        return chr(chance.randint(0x01, 0xFF))
    code = chance.randint(0x100, 0x10FFFF)
    return chr(code) if not 0xD800 <= code <= 0xDFFF else "\ufffd"


def templates(session):
    """Each text argument of each function, the others as usual."""
    return [
        (call_of(function, **{argument.name: way}), ours)
        for function in functions(session)
        if not function.name.startswith("claims.")
        for argument in function.arguments
        for way, ours in WAYS.get(argument.type, ())
    ]


def memory_of(session):
    """What the backend has for itself, in bytes: the shared buffers that it has seen are not its own."""
    status = Path(f"/proc/{session.info.backend_pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) << 10


def fuzz(server, number, results):
    """One session's part. What it holds is looked at after a third, when every plan and cache is there, and at the end."""
    chance = random.Random(f"{SEED} {number}")
    with server.connect(user="mallory", work_mem="16MB") as session:
        session.execute(TOLD)
        ways = templates(session)
        for place, (call, _) in enumerate(ways):
            session.execute(ATTACK.format(number=place, call=call))
        rounds = max(3, math.ceil(INPUTS / SESSIONS / len(ways) / BATCH))
        for turn in range(rounds):
            for place in range(len(ways)):
                session.execute(f"SELECT pg_temp.attack_{place}(%s)", [[text(chance) for _ in range(BATCH)]])
            if turn == rounds // 3:
                third = memory_of(session)
        results.append((session.execute("TABLE told").fetchall(), memory_of(session) - third))


def test_a_million_texts_are_answered_or_refused_with_a_reason(servers):
    print(f"\nSEED={SEED} INPUTS={INPUTS}")
    server = servers("fuzz", autovacuum="on", log_min_error_statement="panic", log_min_messages="log")
    with server.connect() as admin:
        let_in(admin, "mallory")
        admin.execute("SET ROLE mallory")
        admin.execute(SETUP)
        ours = dict(templates(admin))
    results = []
    started = time.monotonic()
    sessions = [threading.Thread(target=fuzz, args=(server, number, results)) for number in range(SESSIONS)]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    assert len(results) == SESSIONS, "a session was cut off"
    told = [row for rows, _ in results for row in rows]
    inputs = sum(row[-1] for row in told)
    states = sorted({row[1] for row in told})
    print(f"{inputs} inputs, {len(ours)} ways in, {time.monotonic() - started:.0f} s; grown by {[grown for _, grown in results]} bytes; {' '.join(states)}")
    assert inputs >= INPUTS
    for template, state, detail, hint, message, given, _ in told:
        where = f"{template} with {given[:100]!r}: {state} {message[:300]}"
        assert state[:2] not in NEVER and state not in NEVER_OF_42, where
        assert "panick" not in message and "backtrace" not in message and ".rs:" not in message, where
        if state == "answer":
            assert detail, f"not well formed: {where}"
        elif ours[template]:
            assert detail and hint, f"without a reason: {where}"
    for _, grown in results:
        assert grown < 8 << 20
    assert server.runs()
    server.assert_sound()
    server.never_crashed()
