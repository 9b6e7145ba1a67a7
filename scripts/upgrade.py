#!/usr/bin/env python3
"""Writes the functions and their comments into the upgrade script of the version in Cargo.toml.

    scripts/upgrade.py          after a build (make build)

An upgrade script, sql/pg_claims--OLD--NEW.sql, has two parts. Tables, constraints, indexes, views and
grants are written by hand. The functions that stand in src/ and the comments that come from their doc
comments would be copied from the built installation script, so they are copied here: between the
script's two marks goes each one that the released OLD does not have, or has otherwise.

make test-upgrade then says whether the script leads where it should.
"""

import re
import sys
import tomllib
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[1]
RELEASED = HOUSE / "tests/upgrade/released"
BEGIN, END = "-- Written by scripts/upgrade.py, to the next mark.\n", "-- The end of what scripts/upgrade.py has written.\n"

# As pgrx and build.rs write them: one pattern for what is told apart by its name.
PARTS = [
    re.compile(r'^CREATE  FUNCTION "(\w+)"\(.*?^AS [^;]*;\n', re.M | re.S),
    re.compile(r"^COMMENT ON FUNCTION @extschema@\.(\w+) IS \$comment\$.*?\$comment\$;\n", re.M | re.S),
]


def main():
    version = tomllib.loads((HOUSE / "Cargo.toml").read_text())["package"]["version"]
    script = one(HOUSE / "sql", f"pg_claims--*--{version}.sql", "write its tables by hand first")
    built = one(HOUSE / "target/package", f"pg*[0-9]/**/extension/pg_claims--{version}.sql", "make build")
    old = (RELEASED / script.name.replace(f"--{version}", "")).read_text(encoding="utf-8")
    new = built.read_text(encoding="utf-8")
    changed = [text for part in PARTS for text in differences(part, old, new)]
    before, _, rest = script.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{script} lacks one of the marks:\n{BEGIN}{END}")
    script.write_text("\n".join([before + BEGIN, *changed, END + after]), encoding="utf-8")


def one(folder, pattern, otherwise):
    """The file of that pattern. Of several builds the youngest: all of them make the same SQL."""
    found = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else sys.exit(f"no {pattern} in {folder}: {otherwise}")


def differences(part, old, new):
    known = {found[1]: found[0] for found in part.finditer(old)}
    for found in part.finditer(new):
        if known.get(found[1]) != found[0]:
            yield found[0].replace("CREATE  FUNCTION", "CREATE OR REPLACE FUNCTION" if found[1] in known else "CREATE FUNCTION")


if __name__ == "__main__":
    main()
