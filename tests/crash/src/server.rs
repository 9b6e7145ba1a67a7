//! A server of our own, made from the scratch server's installation: it is killed, and its clock lies.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub struct Server {
    /// Its data, its log, and what its clock is off by.
    place: PathBuf,
    programs: PathBuf,
    /// Whoever owns the scratch server: PostgreSQL refuses to run as root.
    owner: (u32, u32),
    postmaster: Option<Child>,
}

/// Backends that outlive their postmaster keep the next one from starting. They find out within two
/// seconds; those that do not are killed.
const BACKENDS_FIND_OUT: Duration = Duration::from_secs(5);
const START_AT_MOST: Duration = Duration::from_secs(120);

const SETTINGS: &str = "
listen_addresses = ''
max_connections = 60
shared_buffers = '32MB'
log_line_prefix = '%m [%p] '
# A call tells soon that a stopped process is in its way.
pg_claims.lock_wait = '100ms'
";

fn setting(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| {
        panic!("{name} is not set: start the scratch server (make server) and source target/pg/env")
    })
}

/// The socket's folder is the scratch server's, whose path is known to be short enough.
fn sockets() -> PathBuf {
    PathBuf::from(setting("PGHOST"))
}

/// Nothing listens on that port: it only names the socket.
fn port() -> String {
    let scratch = setting("PGPORT").into_string().ok().and_then(|port| port.parse::<u16>().ok());
    (scratch.expect("PGPORT is a number") + 1).to_string()
}

pub fn socket() -> PathBuf {
    sockets().join(format!(".s.PGSQL.{}", port()))
}

impl Server {
    /// Starts it, with the cluster of an earlier run if there is one.
    pub fn start() -> Self {
        let programs = env::split_paths(&setting("PATH"))
            .find(|folder| folder.join("initdb").exists())
            .expect("initdb must be in the PATH: source target/pg/env");
        let root = programs.ancestors().find(|folder| folder.ends_with("root"));
        let scratch = root.and_then(Path::parent).expect("the scratch server is in …/root/…");
        let place = scratch.join("crash");
        let owner = fs::metadata(scratch.join("data")).expect("the scratch server has data");
        let owner = (owner.uid(), owner.gid());
        fs::create_dir_all(&place).expect("a folder for the server");
        chown(&place, Some(owner.0), Some(owner.1)).expect("the folder is the server's");
        let mut server = Self { place, programs, owner, postmaster: None };
        server.kill_all();
        server.set_clock(0);
        if !server.data().join("PG_VERSION").exists() {
            server.make_data();
        }
        server.restart();
        server
    }

    fn data(&self) -> PathBuf {
        self.place.join("data")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        let log = File::options().create(true).append(true).open(self.place.join("log"));
        let log = log.expect("a log");
        command
            .current_dir(&self.place)
            .uid(self.owner.0)
            .gid(self.owner.1)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log twice"))
            .stderr(log);
        command
    }

    fn make_data(&self) {
        let made = self
            .program("initdb")
            .arg("-D")
            .arg(self.data())
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
            .status();
        assert!(made.is_ok_and(|status| status.success()), "initdb failed, see {:?}", self.place);
        let conf = self.data().join("postgresql.conf");
        let defaults = fs::read_to_string(&conf).expect("initdb writes postgresql.conf");
        fs::write(&conf, defaults + SETTINGS).expect("the settings are written");
    }

    /// Starts the server, again and again until it can be used.
    pub fn restart(&mut self) {
        let began = Instant::now();
        while !self.comes_up() {
            if began.elapsed() > BACKENDS_FIND_OUT {
                self.kill_all();
            }
            let place = &self.place;
            assert!(began.elapsed() < START_AT_MOST, "the server does not start, see {place:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn comes_up(&mut self) -> bool {
        let mut postmaster = self
            .program("postgres")
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(sockets())
            .args(["-p", &port()])
            .env("LD_PRELOAD", libfaketime())
            .env("FAKETIME_TIMESTAMP_FILE", self.place.join("clock"))
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("NO_FAKE_STAT", "1")
            .spawn()
            .expect("postgres can be run");
        while !self.is_up() {
            if postmaster.try_wait().expect("it is a child").is_some() {
                forget_shared(postmaster.id());
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.postmaster = Some(postmaster);
        true
    }

    fn is_up(&self) -> bool {
        let answer = self
            .program("pg_isready")
            .arg("-q")
            .arg("-h")
            .arg(sockets())
            .args(["-p", &port()])
            .status();
        answer.is_ok_and(|status| status.success())
    }

    /// SIGKILL for the postmaster alone, or for all there is of the server.
    pub fn kill(&mut self, all: bool) {
        if let Some(mut postmaster) = self.postmaster.take() {
            postmaster.kill().expect("SIGKILL");
            if all {
                self.kill_all();
            }
            postmaster.wait().expect("it is dead");
            forget_shared(postmaster.id());
        }
    }

    fn kill_all(&self) {
        for pid in self.processes() {
            signal(pid, Signal::KILL);
        }
    }

    /// All of the server's processes: their working folder is its data.
    pub fn processes(&self) -> Vec<i32> {
        let data = fs::canonicalize(self.data()).ok();
        let all = fs::read_dir("/proc").expect("/proc").flatten();
        all.filter(|entry| data.is_some() && fs::read_link(entry.path().join("cwd")).ok() == data)
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect()
    }

    /// Sets what the server's clock is ahead of the machine's.
    pub fn set_clock(&self, ahead_ms: i64) {
        let new = self.place.join("clock.new");
        fs::write(&new, format!("{:+.3}\n", ahead_ms as f64 / 1000.0)).expect("the clock is set");
        fs::rename(new, self.place.join("clock")).expect("the clock is set");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(postmaster) = &mut self.postmaster else { return };
        // A fast shutdown.
        signal(postmaster.id() as i32, Signal::INT);
        postmaster.wait().ok();
        forget_shared(postmaster.id());
    }
}

/// One that has ended meanwhile is none the worse for it.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        kill_process(pid, signal).ok();
    }
}

/// libfaketime shares memory between the processes of a server; one that is killed leaves it behind.
fn forget_shared(pid: u32) {
    for name in [format!("faketime_shm_{pid}"), format!("sem.faketime_sem_{pid}")] {
        fs::remove_file(Path::new("/dev/shm").join(name)).ok();
    }
}

fn libfaketime() -> PathBuf {
    let under = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = under("/usr/lib").map(|entry| entry.path()).chain(["/usr/lib64".into()]);
    let mut found = folders.map(|folder| folder.join("faketime/libfaketime.so.1"));
    found.find(|library| library.exists()).expect("libfaketime must be installed")
}
