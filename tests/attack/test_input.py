"""Whatever is written into a name comes back as it was, or is refused with a reason. No JSON is too deep or too large
for an answer."""

import json

import psycopg
import pytest

from calls import SETUP
from catalog import call, functions, let_in
from own_server import ask, refusal

NAMES = (
    "O'Reilly", "'; DROP TABLE claims.slot_claims; --", '"quoted', 'a "quoted" word', "back\\slash", "\\", "E'\\x41'", "%s %I %L %%", "$1", "$$ $a$", ":name", "{}",
    "{{ $json.slot }}", "a,b", "a\u00a0b", "\U0001f4c5 15:00", "\U0010ffff", "e\u0301", "\u00e9", "\u202eright to left", "a\u200bb", "a\ufeffb", "\ufffd", "nullable", "NULLS",
    "../../etc/passwd", "<script>", "a" * 500, "\u00e9" * 250, "\U0001f4c5" * 125, "0", "-1", "1e400", "true",
)
REFUSED = ("", " ", " a", "a ", "\u00a0a", "a\tb", "a\nb", "\r", "\x01", "\x7f", "\u0085", '"a"', "undefined", "null", "NaN", "[object Object]", "a" * 501, "\u00e9" * 251)


@pytest.fixture
def server(servers):
    server = servers("attack", log_min_messages="log")
    with server.connect() as admin:
        let_in(admin, "mallory")
    yield server
    server.assert_sound()
    server.never_crashed()


@pytest.fixture
def mallory(server):
    with server.connect(user="mallory") as session:
        session.execute(SETUP)
        yield session


def test_a_name_comes_back_as_it_was(mallory):
    for name in NAMES:
        claim = ask(mallory, "claim_slot(%s, %s, call_id => %s)", name, name, name)
        assert (claim["outcome"], claim["slot_id"], claim["holder"]) == ("claimed", name, name)
        assert ask(mallory, "check_slot(%s)", name)["holder"] == name
        assert ask(mallory, "release_slot(%s, %s, 1, reason => %s)", name, name, name)["outcome"] == "released"
        key = ask(mallory, "begin_key(%s, %s)", name, name)
        assert (key["outcome"], key["key"]) == ("run", name)
        assert ask(mallory, "finish_key(%s, %s, 1, result => %s)", name, name, json.dumps(name))["outcome"] == "done"
        assert ask(mallory, "begin_key(%s, %s)", name, "another")["result"] == name
        assert ask(mallory, "create_series(%s)", name)["ok"]
        assert ask(mallory, "next_number(%s, %s, %s)", name, name, name)["number"] == 1
        assert mallory.execute("SELECT reason FROM claims.slot_claims WHERE slot_id = %s", [name]).fetchone()[0] == name


def test_a_broken_name_is_refused_with_a_reason(mallory):
    for name in REFUSED:
        for statement in ("claim_slot(%s, 'run')", "claim_slot('new', %s)", "begin_key(%s, 'run')", "create_series(%s)", "next_number('numbers', %s)"):
            diag = refusal(mallory, statement, name)
            assert diag.sqlstate[:2] == "22" and diag.message_detail and diag.message_hint, f"{statement} {name!r}: {diag.message_primary}"


def test_bytes_that_are_no_utf8_are_refused_by_the_server(mallory):
    for bad in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"):
        with pytest.raises(psycopg.errors.CharacterNotInRepertoire):
            mallory.execute(b"SELECT claim_slot('" + bad + b"', 'run')")
    assert refusal(mallory, r"""claim_many('[{"slot_id": "a\u0000b"}]', 'run')""").sqlstate == "22P05"


@pytest.mark.parametrize("kind", ["deep", "large"])
def test_no_json_is_too_deep_or_too_large_for_an_answer(server, mallory, kind):
    """10,000 levels and 100 MB, in every jsonb argument."""
    deep = "(repeat('[', 10000) || repeat(']', 10000))::jsonb"
    values = {
        "deep": (deep, f"jsonb_build_object('ok', true, 'slot_id', {deep})", f"jsonb_build_array({deep})"),
        "large": ("jsonb_build_object('ok', true, 'a', repeat('x', 100 * 1024 * 1024))",),
    }[kind]
    tried = 0
    for function in functions(mallory):
        for argument in function.arguments:
            if argument.type != "jsonb":
                continue
            for value in values:
                statement = call(function, **{argument.name: value})
                tried += 1
                try:
                    # As text: what comes back may be too deep for the client.
                    answer = ask(mallory, f"({statement})::text")
                    assert '"ok": ' in answer and '"outcome": ' in answer, statement
                except psycopg.Error as error:
                    assert error.sqlstate[:2] in ("22", "54", "55", "42") and error.diag.message_detail and error.diag.message_hint, f"{statement}: {error}"
    assert tried >= 20
    assert "ok" in ask(mallory, "check_slot('fenced')")
