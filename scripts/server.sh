#!/usr/bin/env bash
# The scratch server: its own copy of the PostgreSQL installation, with its own data, under target/pg.
# Nothing outside of target/ is written, and no other server on the machine is touched.
#
#   scripts/server.sh start    start it with the extension as last built
#   scripts/server.sh psql     the same, then psql in it
#   scripts/server.sh stop     stop it
#   scripts/server.sh mutant   put the mutant's library beside the extension's own
#
# PostgreSQL finds its libraries and its share folder relative to its own place, so a copied binary
# with links to everything else is an installation of which single files can be replaced.
source "$(dirname "$0")/common.sh"

main() {
    require_postgres
    lock_target
    choose_place
    case ${1:-} in
    start) start ;;
    psql)
        start
        exec 9>&-
        # shellcheck source=/dev/null
        source "$HOUSE/target/pg/env"
        exec "$BIN/psql" "${@:2}"
        ;;
    stop) stop ;;
    mutant) install_mutant ;;
    *) die "usage: scripts/server.sh start | psql | stop | mutant" ;;
    esac
}

start() {
    copy_installation
    install_extension
    make_data
    start_server
    write_env
    make_extension
    say "PostgreSQL $PG_MAJOR on port $(<"$PLACE/port"), socket in $SOCKETS; its settings: . target/pg/env"
}

stop() {
    if running; then
        say "stopping PostgreSQL $PG_MAJOR"
        as_server "$BIN/pg_ctl" -D "$DATA" -m fast -w stop >/dev/null
    fi
}

lock_target() {
    mkdir -p "$HOUSE/target/pg"
    exec 9>"$HOUSE/target/pg/lock"
    flock 9
}

# Where everything of this server is.
choose_place() {
    local link=$HOUSE/target/pg/$PG_MAJOR
    make_reachable "$link"
    PLACE=$(readlink -f "$link")
    DATA=$PLACE/data
    LOG=$PLACE/log/server.log
    local prefix
    prefix=$(common_prefix)
    BIN=$PLACE/root${BINDIR#"$prefix"}
    LIB=$PLACE/root${PKGLIBDIR#"$prefix"}
    SHARE=$PLACE/root${SHAREDIR#"$prefix"}
    choose_sockets
}

# The folder that holds all of an installation: what is below it keeps its place in the copy.
common_prefix() {
    local prefix=$BINDIR
    until [[ $SHAREDIR == "$prefix"/* && $PKGLIBDIR == "$prefix"/* ]]; do prefix=${prefix%/*}; done
    echo "$prefix"
}

# The path of a unix socket has at most 107 bytes, and a clone may be deeper than that.
choose_sockets() {
    SOCKETS=$PLACE/socket
    local name=/.s.PGSQL.65535
    if ((${#SOCKETS} + ${#name} <= 107)); then return; fi
    if [[ ! -L $PLACE/socket || ! -d $PLACE/socket ]]; then
        rm -f "$PLACE/socket"
        ln -s "$(mktemp -d /tmp/pg_claims.XXXXXX)" "$PLACE/socket"
    fi
    SOCKETS=$(readlink "$PLACE/socket")
}

own() {
    mkdir -p "$1"
    [[ $EUID -ne 0 ]] || chown postgres: "$1/"
}

running() { [[ -f $DATA/postmaster.pid ]] && as_server "$BIN/pg_ctl" -D "$DATA" status >/dev/null; }

copy_installation() {
    if cmp -s "$BINDIR/postgres" "$BIN/postgres" &&
        [[ -e $LIB/pg_cron.so || ! -e $PKGLIBDIR/pg_cron.so ]]; then return; fi
    stop
    say "copying $("$PG_CONFIG" --version) to target/pg/$PG_MAJOR/root"
    rm -rf "$PLACE/root"
    mkdir -p "$BIN" "${LIB%/*}" "${SHARE%/*}"
    local program
    for program in postgres initdb pg_ctl psql pg_dump pg_dumpall pg_restore pg_config pgbench pg_isready \
        pg_basebackup pg_controldata pg_waldump pg_rewind pg_upgrade pg_resetwal createdb dropdb; do
        if [[ -x $BINDIR/$program ]]; then cp "$BINDIR/$program" "$BIN/"; fi
    done
    cp -rs "$PKGLIBDIR" "$LIB"
    cp -rs "$SHAREDIR" "$SHARE"
    # Should the extension be installed in the original: what is tested here is what was built here.
    rm -f "$LIB/$NAME"*.so "$SHARE/extension/$NAME"[.-]*
}

install_extension() {
    local package file
    package=$(package_dir "")
    [[ -f $package.stamp ]] || die "the extension is not built yet" "make build"
    for file in "$SHARE/extension/$NAME"--*.sql; do
        if [[ ! -e $package$SHAREDIR/extension/${file##*/} ]]; then rm -f "$file"; fi
    done
    put_file "$package$PKGLIBDIR/$NAME.so" "$LIB/$NAME.so"
    for file in "$package$SHAREDIR/extension/"*; do
        put_file "$file" "$SHARE/extension/${file##*/}"
    done
}

install_mutant() {
    put_file "$(package_dir mutant)$PKGLIBDIR/$NAME.so" "$LIB/${NAME}_mutant.so"
}

make_data() {
    if [[ -f $DATA/PG_VERSION ]]; then
        local owner
        owner=$(stat -c %U "$DATA")
        [[ $owner == "$(as_server id -un)" ]] ||
            die "$DATA belongs to $owner" "make stop as that user, then remove target/pg"
        return
    fi
    say "making a database cluster"
    own "$DATA"
    as_server "$BIN/initdb" -D "$DATA" -U postgres -A trust -E UTF8 --locale=C --no-sync \
        >"$PLACE/initdb.log" 2>&1 || {
        rm -rf "$DATA"
        cat "$PLACE/initdb.log" >&2
        die "initdb failed"
    }
    # The database is there before the first start: pg_cron's launcher looks for it.
    echo "CREATE DATABASE $NAME" |
        as_server "$BIN/postgres" --single -c log_checkpoints=off -D "$DATA" postgres >/dev/null
    echo "include '$PLACE/scratch.conf'" | as_server tee -a "$DATA/postgresql.conf" >/dev/null
}

start_server() {
    if running; then return; fi
    own "$SOCKETS"
    own "${LOG%/*}"
    choose_port
    settings >"$PLACE/scratch.conf"
    say "starting PostgreSQL $PG_MAJOR"
    # Closed for the server: it would keep the lock for as long as it runs.
    as_server "$BIN/pg_ctl" -D "$DATA" -l "$LOG" -w start >/dev/null 9>&- || {
        tail -n 20 "$LOG" >&2
        die "the server did not start; its log is $LOG"
    }
}

# The port of the last time if nobody listens there, or else another. Never 5432, and below the range
# from which the system gives outgoing connections theirs.
choose_port() {
    local port
    port=$(cat "$PLACE/port" 2>/dev/null || echo $((20000 + RANDOM % 10000)))
    while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((20000 + RANDOM % 10000)); done
    echo "$port" >"$PLACE/port"
}

# pg_cron's jobs run as background workers: a job made for a connection keeps the port of the day it
# was made. Anybody on this machine may connect, so nothing of worth belongs in this server.
settings() {
    cat <<CONF
listen_addresses = '127.0.0.1'
port = $(<"$PLACE/port")
unix_socket_directories = '$SOCKETS'
max_connections = 200
max_worker_processes = 32
CONF
    if has_cron; then
        cat <<CONF
shared_preload_libraries = 'pg_cron'
cron.database_name = '$NAME'
cron.use_background_workers = on
CONF
    fi
}

# Where there is none, only its own tests are left out.
has_cron() { [[ -e $LIB/pg_cron.so ]]; }

write_env() {
    {
        printf 'export PGHOST=%q PGPORT=%q ' "$SOCKETS" "$(<"$PLACE/port")"
        # shellcheck disable=SC2016  # the PATH of whoever sources it
        printf 'PGUSER=postgres PGDATABASE=%q PATH=%q:"$PATH"\n' "$NAME" "$BIN"
    } >"$HOUSE/target/pg/env"
    # shellcheck source=/dev/null
    source "$HOUSE/target/pg/env"
}

# While it is developed, the extension changes under one version. The database says from which SQL its
# extension was made; when that is no longer what was built, the extension is made anew, rows and all.
make_extension() {
    local built
    built=$(cat "$SHARE/extension/$NAME.control" "$SHARE/extension/$NAME"--*.sql | sha256sum | cut -c 1-16)
    if [[ $(query "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = '$NAME'") == "$built" ]]; then
        return
    fi
    say "creating the extension in database $NAME"
    query "
        SET lock_timeout = '10 s';
        $(! has_cron || echo "CREATE EXTENSION IF NOT EXISTS pg_cron;")
        DROP EXTENSION IF EXISTS $NAME CASCADE;
        CREATE EXTENSION $NAME CASCADE;
        COMMENT ON DATABASE $NAME IS '$built'"
}

# The statements of one query are one transaction.
query() { PGOPTIONS='-c client_min_messages=warning' "$BIN/psql" -XqAt -v ON_ERROR_STOP=1 -c "$1"; }

main "$@"
