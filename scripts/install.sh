#!/usr/bin/env bash
# Installs the built extension into the PostgreSQL that PG_CONFIG names, or the newest one here.
# CREATE EXTENSION pg_claims CASCADE then makes it in a database.
source "$(dirname "$0")/common.sh"
require_postgres

package=$(package_dir "")
say "installing $NAME $(cargo_toml version) into $PKGLIBDIR and $SHAREDIR/extension"
if [[ -w $PKGLIBDIR && -w $SHAREDIR/extension ]]; then
    as_owner=()
else
    have sudo || die "$PKGLIBDIR is not yours to write in, and there is no sudo: run this as root"
    as_owner=(sudo)
fi
"${as_owner[@]}" bash -c "source '$HOUSE/scripts/common.sh'
    put_file '$package$PKGLIBDIR/$NAME.so' '$PKGLIBDIR/$NAME.so'
    for file in '$package$SHAREDIR/extension/'*; do
        put_file \"\$file\" '$SHAREDIR/extension/'\"\${file##*/}\"
    done"
say "now, in a database: CREATE EXTENSION $NAME CASCADE;"
