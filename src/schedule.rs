//! schedule_reaper, unschedule_reaper: the reaper as a job of pg_cron.
//!
//! pg_cron lives in one database of a server and runs its jobs as the role that made
//! them. So both run with the caller's own rights, and where pg_cron lives in another
//! database they say what to run there.

use std::ffi::CStr;

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::backend::server;
use crate::backend::value::{Reply, literal};
use crate::error::{CronFault, Refusal};
use crate::input;
use crate::outcome::{Answer, Outcome};
use crate::statement;

/// Lets pg_cron call reap_stale_claims, as the role that calls this. Called again, it
/// changes the one job there is.
///
/// Arguments:
///   schedule     when, as pg_cron writes it: minute, hour, day, month, weekday
///   older_than   the argument of reap_stale_claims, from 0 to 100 years
///
/// Outcomes: scheduled (ok; job, job_id, schedule).
///
/// pg_cron connects to the host and port of the day the job was made, so after the server
/// has moved it is called again. On a standby nothing is run, and nothing is needed.
///
/// Raises 22004 or 22023 for bad input, 55000 where pg_cron is missing, not loaded or at
/// home in another database (the HINT says what to run, and where), 42501 without the
/// right to schedule a job or to run the reaper, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written, and whatever pg_cron says of a schedule that it cannot read.
///
/// Source: pg_cron, cron.schedule.
#[pg_extern(volatile, parallel_unsafe)]
#[search_path(pg_catalog, pg_temp)]
fn schedule_reaper(
    schedule: default!(Option<String>, "'* * * * *'"),
    older_than: default!(Option<Interval>, "'0'"),
) -> Result<Reply, ErrorReport> {
    let schedule = schedule.ok_or(Refusal::Null {
        argument: "schedule",
        hint: "Leave it out for every minute, or write when as pg_cron does, such as '*/5 * * * *'.",
    })?;
    let older_than_ms = input::older_than_ms(older_than)?;
    input::writable("schedule_reaper")?;
    let here = Here::look(older_than_ms);
    here.check_cron(&format!(
        "SELECT cron.schedule_in_database({}, {}, {}, {}, {})",
        literal(&here.job()),
        literal(&schedule),
        literal(&here.command),
        literal(&here.database),
        literal(&here.role)
    ))?;
    here.check_cron_rights()?;
    here.check_reaper_rights()?;
    let args = [here.job().into(), schedule.as_str().into(), here.command.as_str().into()];
    let job_id: Option<i64> = SCHEDULE.with(|make| make.first(&args, |row| row.must(1)));
    // A superuser sees the jobs of all roles: the reaper is to run once, not once a role.
    here.jobs().into_iter().filter(|job| Some(*job) != job_id).for_each(unschedule);
    Ok(Reply::from(&Answer {
        job: Some(here.job()),
        job_id,
        schedule: Some(schedule),
        ..Answer::yes(Outcome::Scheduled, "The reaper is scheduled.")
    }))
}

/// Takes back what schedule_reaper did: of a superuser whoever did it, of another role its
/// own job.
///
/// Outcomes: unscheduled (ok; job, job_id), absent (ok; there was no such job).
///
/// Raises 55000 where pg_cron is at home in another database (the HINT says what to run
/// there), 42501 without the right to use pg_cron, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: pg_cron, cron.unschedule.
#[pg_extern(volatile, parallel_unsafe)]
#[search_path(pg_catalog, pg_temp)]
fn unschedule_reaper() -> Result<Reply, ErrorReport> {
    input::writable("unschedule_reaper")?;
    let here = Here::look(0);
    let elsewhere = format!(
        "SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = {}",
        literal(&here.job())
    );
    let jobs = match here.check_cron(&elsewhere) {
        Ok(()) => {
            here.check_cron_rights()?;
            here.jobs()
        }
        Err(Refusal::Cron { fault, .. }) if !here.has_cron && fault.is_absence() => Vec::new(),
        Err(refusal) => Err(refusal)?,
    };
    let answer = match jobs.first() {
        None => Answer::yes(Outcome::Absent, "The reaper was not scheduled."),
        Some(_) => Answer::yes(Outcome::Unscheduled, "The reaper is no longer scheduled."),
    };
    let answer = Answer { job: Some(here.job()), job_id: jobs.first().copied(), ..answer };
    jobs.into_iter().for_each(unschedule);
    Ok(Reply::from(&answer))
}

statement! {
    LOOK =
        "SELECT current_database()::text, reaper.database, current_user::text,
                format('SELECT %I.reap_stale_claims(%L)', reaper.schema, $1),
                has_function_privilege(reaper.function, 'EXECUTE'),
                cron.schema IS NOT NULL,
                has_schema_privilege(cron.schema, 'USAGE')
                AND (SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc
                     WHERE pronamespace = cron.schema AND proname IN ('schedule', 'unschedule')),
                EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_cron')
         FROM (SELECT namespace.nspname AS schema, function.oid AS function, database.oid AS database
               FROM pg_extension AS extension
               JOIN pg_namespace AS namespace ON namespace.oid = extension.extnamespace
               JOIN pg_proc AS function
                 ON function.pronamespace = namespace.oid AND function.proname = 'reap_stale_claims'
               JOIN pg_database AS database ON database.datname = current_database()
               WHERE extension.extname = 'pg_claims') AS reaper
         LEFT JOIN (SELECT namespace.oid AS schema
                    FROM pg_extension AS extension, pg_namespace AS namespace
                    WHERE extension.extname = 'pg_cron' AND namespace.nspname = 'cron') AS cron
           ON true";

    SCHEDULE = "SELECT cron.schedule($1::text, $2::text, $3::text)";
    UNSCHEDULE = "SELECT cron.unschedule($1::bigint)";

    /// Row-level security of pg_cron's own shows a role only its own jobs.
    READ_JOBS =
        "SELECT jobid FROM cron.job
         WHERE jobname = $1 AND database = current_database() ORDER BY jobid";
}

/// Where this is, and what is there.
struct Here {
    database: String,
    database_oid: pg_sys::Oid,
    role: String,
    /// What the job runs.
    command: String,
    may_reap: bool,
    has_cron: bool,
    may_schedule: bool,
    has_package: bool,
}

/// Only pg_cron itself defines this setting: without it, it is not loaded.
const CRON_DATABASE: &CStr = c"cron.database_name";

impl Here {
    fn look(older_than_ms: i64) -> Self {
        // In a unit that every IntervalStyle reads as the same.
        let older_than = match older_than_ms {
            0 => "0".to_owned(),
            ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
            ms => format!("{ms} ms"),
        };
        let here = LOOK.with(|look| {
            look.first(&[older_than.into()], |row| Self {
                database: row.must(1),
                database_oid: row.must(2),
                role: row.must(3),
                command: row.must(4),
                may_reap: row.must(5),
                has_cron: row.must(6),
                may_schedule: row.get(7).unwrap_or(false),
                has_package: row.must(8),
            })
        });
        here.expect("the extension that this function belongs to is there")
    }

    /// The job's name, which is a PostgreSQL name and so has 63 bytes at the most.
    fn job(&self) -> String {
        let name = format!("pg_claims_reaper_{}", self.database);
        match name.len() {
            0..64 => name,
            _ => format!("pg_claims_reaper_{}", self.database_oid.to_u32()),
        }
    }

    /// That jobs can be made here; `elsewhere` is what would do it in another database.
    fn check_cron(&self, elsewhere: &str) -> Result<(), Refusal> {
        let fault = match server::setting(CRON_DATABASE) {
            Some(database) if database != self.database => {
                CronFault::Elsewhere { database, statement: elsewhere.into() }
            }
            Some(_) if !self.has_cron => CronFault::NotCreated,
            Some(_) => return Ok(()),
            None if self.has_package => CronFault::NotLoaded,
            None => CronFault::NotInstalled { command: self.command.clone() },
        };
        Err(Refusal::Cron { database: self.database.clone(), fault })
    }

    fn check_cron_rights(&self) -> Result<(), Refusal> {
        match self.may_schedule {
            true => Ok(()),
            false => Err(Refusal::CronRights {
                role: self.role.clone(),
                database: self.database.clone(),
            }),
        }
    }

    fn check_reaper_rights(&self) -> Result<(), Refusal> {
        match self.may_reap {
            true => Ok(()),
            false => Err(Refusal::ReaperRights { role: self.role.clone() }),
        }
    }

    fn jobs(&self) -> Vec<i64> {
        READ_JOBS.with(|read| read.rows(&[self.job().into()], |row| row.must(1)))
    }
}

fn unschedule(job_id: i64) {
    UNSCHEDULE.with(|end| end.run(&[job_id.into()]));
}
