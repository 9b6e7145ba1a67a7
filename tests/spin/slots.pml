/*
 * The slot protocol, small enough that every interleaving of it is looked at.
 *
 * Two holders work on one slot, statement by statement, as they do in the database: what a statement
 * reads or writes is one step, and anything may happen between two steps. What was written shows when
 * it is committed; until then its row is locked. Whoever works may crash anywhere: before the commit
 * nothing has happened, after it the answer may be lost. A lease may end at any moment, and as the
 * clock can be set back, it may be running again. The reaper writes down what is over, or does not.
 *
 * The advisory lock and the unique index are left out: nothing depends on them.
 *
 * With -DNO_ROW_GUARD a takeover ends the claim that it has read, whatever has become of it since.
 */

#define CLAIMS 4        /* as many as there may ever be */
#define NOBODY 0

mtype = { NONE, CLAIMED, BOOKED, RELEASED, EXPIRED }

typedef Claim {
    mtype status = NONE;
    bool over;          /* its lease is over */
    byte origin;        /* of a late confirm: the token that it confirms */
    bool acknowledged;  /* its holder was told that it is booked */
    byte locked         /* who has written it and not committed */
}

Claim claim[CLAIMS + 1];    /* by token, from 1 */
byte last = 0;              /* the last token */
byte appending = NOBODY;    /* who has written the next one and not committed */

hidden byte each, other, taken, booked, means;

#define blocks(token) \
    (claim[token].status == BOOKED || (claim[token].status == CLAIMED && !claim[token].over))

/* The claim that a token means now: one that was confirmed late lives on in another. */
inline find(token) {
    means = token;
    for (other : 1 .. CLAIMS) {
        if
        :: claim[other].origin == token -> means = other
        :: else -> skip
        fi
    }
}

/* After every commit, with its answer or without. */
inline check() {
    d_step {
        taken = 0;
        booked = 0;
        for (each : 1 .. CLAIMS) {
            if
            :: claim[each].status == CLAIMED -> taken++
            :: claim[each].status == BOOKED -> taken++; booked++
            :: else -> skip
            fi;
            find(each);
            /* No acknowledged confirm is lost. */
            assert(!claim[each].acknowledged || claim[means].status == BOOKED)
        };
        assert(taken <= 1);
        assert(booked <= 1)
    }
}

/* The row decides: whoever finds it as it was read may change it, if nobody else is about to. */
inline change(token, new) {
    atomic {
        if
        :: claim[token].locked == NOBODY && claim[token].status == CLAIMED ->
            claim[token].locked = me;
            changed = token;
            becomes = new
        :: else -> goto start_over
        fi
    }
}

inline end_expired(token) {
#ifdef NO_ROW_GUARD
    atomic {
        claim[token].locked == NOBODY ->
        claim[token].locked = me;
        changed = token;
        becomes = EXPIRED
    }
#else
    change(token, EXPIRED)
#endif
}

/* The primary key decides: the next token is had by one. */
inline append(new) {
    atomic {
        if
        :: last == read && appending == NOBODY ->
            appending = me;
            appends = new
        :: else -> goto start_over
        fi
    }
}

inline commit() {
    if
    :: changed != 0 ->
        claim[changed].status = becomes;
        claim[changed].over = false
    :: else -> skip
    fi;
    if
    :: appends != NONE ->
        last++;
        claim[last].status = appends;
        claim[last].origin = late
    :: else -> skip
    fi
}

/* The end of a transaction, whether or not anything has come of it. */
inline unlock() {
    if
    :: changed != 0 -> claim[changed].locked = NOBODY
    :: else -> skip
    fi;
    if
    :: appends != NONE -> appending = NOBODY
    :: else -> skip
    fi;
    changed = 0;
    becomes = NONE;
    appends = NONE;
    expired = false;
    read = 0;
    late = 0
}

proctype Holder(byte me) {
    byte held = 0;      /* the token that it was told of */
    byte read, late, changed;
    bool expired;
    mtype becomes = NONE, appends = NONE;

start_over:
    atomic { true; unlock() };

end:
    if
    /* Claim: the last claim is read. */
    :: atomic {
            last < CLAIMS && !blocks(last) ->
            read = last;
            expired = (claim[last].status == CLAIMED)
        };
        goto takes
    /* Confirm: what has become of the claim is read. */
    :: atomic {
            held != 0 ->
            find(held);
            if
            :: claim[means].status == BOOKED ->
                claim[held].acknowledged = true;
                goto end
            :: claim[means].status == CLAIMED ->
                read = means;
                goto confirms
            :: else -> goto confirms_late
            fi
        }
    /* Release. */
    :: atomic {
            held != 0 ->
            find(held);
            if
            :: claim[means].status == CLAIMED -> read = means
            :: else -> goto end
            fi
        };
        goto releases
    fi;

confirms_late:
    /* The claim has ended. Whoever is there now has won, or else there is room. */
    atomic {
        if
        :: blocks(last) ->
            /* lost */
            find(held);
            assert(claim[means].status != BOOKED && !claim[held].acknowledged);
            held = 0;
            goto end
        :: !blocks(last) && last < CLAIMS ->
            read = last;
            expired = (claim[last].status == CLAIMED);
            late = held
        :: !blocks(last) && last == CLAIMS -> goto end
        fi
    };

takes:
    if
    :: expired -> end_expired(read)
    :: !expired
    fi;
    if
    :: late != 0 -> append(BOOKED)
    :: late == 0 -> append(CLAIMED)
    fi;
    if
    :: atomic {
            true;
            commit();
            if
            :: late == 0 -> held = last
            :: late != 0 -> claim[held].acknowledged = true
            fi;
            check()
        }
    :: atomic { true; commit(); check() }    /* nobody hears of it */
    :: true                         /* a crash */
    fi;
    goto start_over;

confirms:
    change(read, BOOKED);
    if
    :: atomic { true; commit(); claim[held].acknowledged = true; check() }
    :: atomic { true; commit(); check() }
    :: true
    fi;
    goto start_over;

releases:
    change(read, RELEASED);
    if
    :: atomic { true; commit(); check() }
    :: true
    fi;
    goto start_over
}

/* It takes what is over at the very moment of its statement. */
proctype Reaper(byte me) {
    byte read, late, changed;
    bool expired;
    mtype becomes = NONE, appends = NONE;

start_over:
    atomic { true; unlock() };

end:
    atomic { claim[last].status == CLAIMED && claim[last].over -> read = last };
    change(read, EXPIRED);
    if
    :: atomic { true; commit(); check() }
    :: true
    fi;
    goto start_over
}

proctype Clock() {
end:
    do
    :: atomic { claim[last].status == CLAIMED -> claim[last].over = !claim[last].over }
    od
}

init {
    atomic { run Holder(1); run Holder(2); run Reaper(3); run Clock() }
}
