//! For the tests only: the protocol with one part of it left out, so that they can show
//! what that part is worth. Everything about it is in builds with the feature `mutant`
//! and in no other; there `pg_claims.mutant` says which part.

use pgrx::guc::PostgresGucEnum;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

#[derive(Clone, Copy, PartialEq, PostgresGucEnum)]
pub enum Part {
    #[name = c"nothing"]
    Nothing,
    /// The advisory lock.
    #[name = c"lock"]
    Lock,
    /// The takeover's look whether the expired claim still is as it was read. The advisory
    /// lock would cover that up, so it is left out as well.
    #[name = c"row_guard"]
    RowGuard,
    /// A claim is whatever its holder has there, not the one that the token names.
    #[name = c"token"]
    Token,
    /// A key is its holder's under every token.
    #[name = c"key_token"]
    KeyToken,
    /// A late confirm does not say which claim it confirms.
    #[name = c"late_origin"]
    LateOrigin,
    /// A key that is granted anew keeps its token.
    #[name = c"key_rise"]
    KeyRise,
}

static MUTANT: GucSetting<Part> = GucSetting::<Part>::new(Part::Nothing);

pub fn leaves_out(part: Part) -> bool {
    match MUTANT.get() {
        Part::RowGuard => matches!(part, Part::RowGuard | Part::Lock),
        mutant => mutant == part,
    }
}

pub fn init() {
    GucRegistry::define_enum_guc(
        c"pg_claims.mutant",
        c"The part of the protocol that is left out.",
        c"Only for tests.",
        &MUTANT,
        GucContext::Suset,
        GucFlags::default(),
    );
}
