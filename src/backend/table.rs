//! The short way to a row of the extension's own tables: one probe of an index, one row
//! written, without a statement.
//!
//! A statement through SPI costs many times what its one row costs: the executor is set
//! up anew for each call, and with it every CHECK constraint is parsed and every index
//! predicate is planned. Here what was set up is kept, and thrown away when the table
//! changes. Everything that guards the table is the executor's own and still asked:
//! NOT NULL and CHECK constraints, unique indexes, exclusion constraints, every index
//! that somebody has added, the row locks.
//!
//! What only the executor can do (a trigger, a rule, row security, a partition, another
//! storage, a column of somebody else's with its default, rights that are not simply the
//! owner's) is left to it: then every function here answers [`Unfit`], and the caller runs
//! its statement. So the statements stay, and a test runs both ways and compares.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::ptr;
use std::rc::{Rc, Weak};

use pgrx::datum::DatumWithOid;
use pgrx::{PgList, pg_sys};

use super::raw::{self, guarded};
use super::statement::Row;

/// The table is not one that can be reached in the short way: run the statement.
#[derive(Debug)]
pub struct Unfit;

/// A table, and what is kept of it in this backend.
pub struct Table {
    name: &'static CStr,
    /// The indexes by which its rows are found. The first is unique, and the one for
    /// changes.
    ways: &'static [&'static CStr],
    /// By their number (from 1) callers know the columns, in reading and in writing.
    columns: &'static [&'static CStr],
    kept: Cell<*mut Kept>,
    in_use: Cell<bool>,
}

/// What the executor would set up for each statement.
struct Kept {
    stale: Rc<Cell<bool>>,
    /// `None`: the table is unfit, until it changes.
    ways: Option<Ways>,
}

struct Ways {
    table: pg_sys::Oid,
    ways: Vec<pg_sys::Oid>,
    columns: Vec<Column>,
    estate: *mut pg_sys::EState,
    target: *mut pg_sys::ResultRelInfo,
    indexes: Vec<Index>,
    /// For rows as they are found, and for rows as they are to be.
    found: *mut pg_sys::TupleTableSlot,
    new: *mut pg_sys::TupleTableSlot,
    width: usize,
}

/// An index, and the condition of a partial one.
struct Index {
    oid: pg_sys::Oid,
    info: *mut pg_sys::IndexInfo,
    condition: *mut pg_sys::ExprState,
}

#[derive(Clone, Copy)]
pub(super) struct Column {
    /// Its place in a row, from 0.
    pub(super) place: usize,
    pub(super) type_oid: pg_sys::Oid,
}

thread_local! {
    /// Which relations' changes make what stale.
    static WATCHED: RefCell<Vec<(pg_sys::Oid, Weak<Cell<bool>>)>> = const { RefCell::new(Vec::new()) };
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// PostgreSQL calls this when the definition of a relation has changed; InvalidOid stands
/// for all of them. It only sets flags: it can come at any time.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn changed(_none: pg_sys::Datum, relation: pg_sys::Oid) {
    WATCHED.with_borrow(|watched| {
        for (oid, stale) in watched {
            if (relation == pg_sys::Oid::INVALID || relation == *oid)
                && let Some(stale) = stale.upgrade()
            {
                stale.set(true);
            }
        }
    });
}

/// The same for a function, which may be one that a constraint or an index calls.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn function_changed(_none: pg_sys::Datum, _cache: i32, _hash: u32) {
    // SAFETY: for this function it is as if all relations had changed.
    unsafe { changed(pg_sys::Datum::null(), pg_sys::Oid::INVALID) };
}

fn watch(relation: pg_sys::Oid, stale: &Rc<Cell<bool>>) {
    WATCHED.with_borrow_mut(|all| all.push((relation, Rc::downgrade(stale))));
}

/// What became of opening a table.
enum Opened {
    Gone,
    Stale,
    NotOurs,
    Empty,
    Ready { relation: pg_sys::Relation, snapshot: pg_sys::Snapshot },
}

/// One use of a table: from opening it to letting it go.
struct Use<'a> {
    of: &'a Table,
    ways: &'a mut Ways,
    relation: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.of.in_use.set(false);
        // An error has passed through: what is kept may be in the midst of anything. The
        // abort lets go of what is open; the memory is freed by the next use.
        if std::thread::panicking() {
            self.of.forget();
        }
    }
}

impl Table {
    pub const fn new(
        name: &'static CStr,
        ways: &'static [&'static CStr],
        columns: &'static [&'static CStr],
    ) -> Self {
        Self { name, ways, columns, kept: Cell::new(ptr::null_mut()), in_use: Cell::new(false) }
    }

    /// The row with the highest (or only) value of the index's further columns, of those
    /// that have `key` in its first ones; as of now.
    pub fn last<T>(
        &self,
        key: &[DatumWithOid],
        read: impl FnOnce(&Row) -> T,
    ) -> Result<Option<T>, Unfit> {
        self.look(|view| view.last(0, &equal(key), read))
    }

    /// The same in a table that is most often empty: whether it is, its file says.
    pub fn last_if_any<T>(
        &self,
        key: &[DatumWithOid],
        read: impl FnOnce(&Row) -> T,
    ) -> Result<Option<T>, Unfit> {
        let table = self.open_unless_empty(pg_sys::AccessShareLock, true)?;
        Ok(table.and_then(|table| View::during(table, |view| view.last(0, &equal(key), read))))
    }

    /// Several looks at one moment, which is now.
    pub fn look<T>(&self, look: impl FnOnce(&mut View) -> T) -> Result<T, Unfit> {
        Ok(View::during(self.open(pg_sys::AccessShareLock)?, look))
    }

    /// Inserts a row whose values are those of the columns, unless a unique index or an
    /// exclusion constraint has another one already; says whether it did. As with ON
    /// CONFLICT DO NOTHING, save that nobody is waited for: a row that somebody else is
    /// just inserting is there.
    pub fn insert(&self, values: &[DatumWithOid]) -> Result<bool, Unfit> {
        let mut table = self.open(pg_sys::RowExclusiveLock)?;
        table.fill(values);
        let inserted = table.insert();
        table.done();
        Ok(inserted)
    }

    /// Changes the row that has `key`, if it can be locked at once and `is_as_read` says
    /// yes to its newest version; says whether it did. `values` are those of some columns,
    /// by their numbers.
    pub fn change<'v>(
        &self,
        key: &[DatumWithOid],
        is_as_read: impl FnOnce(&Row) -> bool,
        values: impl FnOnce(&Row) -> Vec<(usize, DatumWithOid<'v>)>,
    ) -> Result<bool, Unfit> {
        let mut table = self.open(pg_sys::RowExclusiveLock)?;
        let changed = table.find(key) && table.lock() && is_as_read(&table.row());
        if changed {
            let values = values(&table.row());
            table.update(&values);
        }
        table.done();
        Ok(changed)
    }

    /// Locks the row that has `key`, if that can be done at once, and reads its newest
    /// version.
    pub fn hold<T>(
        &self,
        key: &[DatumWithOid],
        read: impl FnOnce(&Row) -> T,
    ) -> Result<Option<T>, Unfit> {
        let mut table = self.open(pg_sys::RowExclusiveLock)?;
        let is_held = table.find(key) && table.lock();
        let row = is_held.then(|| read(&table.row()));
        table.done();
        Ok(row)
    }

    fn open(&self, lock: u32) -> Result<Use<'_>, Unfit> {
        Ok(self.open_unless_empty(lock, false)?.expect("whether it is empty was not asked"))
    }

    /// Opens the table; if that is asked, not when it is empty.
    fn open_unless_empty(&self, lock: u32, asked: bool) -> Result<Option<Use<'_>>, Unfit> {
        // A function in somebody's index or constraint has called us again.
        if self.in_use.get() {
            return Err(Unfit);
        }
        // SAFETY: what has been kept is a Box of `set_up`, and only freed by `tear_down`,
        // which is called while nobody uses it. The table is locked before it is looked at
        // whether what is kept of it is still true, as taking a lock is what makes a
        // backend hear of changes; from then on the lock keeps them away.
        unsafe {
            loop {
                let kept = self.kept.get();
                let is_old = kept.is_null() || (*kept).stale.get();
                if is_old {
                    self.tear_down();
                    self.kept.set(Box::into_raw(Box::new(self.set_up())));
                }
                let kept = self.kept.get();
                let Some(ways) = (*kept).ways.as_mut() else { return Err(Unfit) };
                let stale = Rc::as_ptr(&(*kept).stale);
                let opened = guarded(|| {
                    let relation = raw::try_table_open(ways.table, lock as _);
                    if relation.is_null() {
                        return Opened::Gone;
                    }
                    if (*stale).get() {
                        raw::table_close(relation, lock as _);
                        return Opened::Stale;
                    }
                    if (*(*relation).rd_rel).relowner != raw::GetUserId() {
                        raw::table_close(relation, pg_sys::NoLock as _);
                        return Opened::NotOurs;
                    }
                    let main = pg_sys::ForkNumber::MAIN_FORKNUM;
                    if asked && raw::RelationGetNumberOfBlocksInFork(relation, main) == 0 {
                        raw::table_close(relation, pg_sys::NoLock as _);
                        return Opened::Empty;
                    }
                    // As each statement through SPI does: what this transaction has done is
                    // seen, and what others have committed by now; also by a function in a
                    // constraint or an index.
                    raw::CommandCounterIncrement();
                    raw::PushActiveSnapshot(raw::GetTransactionSnapshot());
                    Opened::Ready { relation, snapshot: raw::GetActiveSnapshot() }
                });
                match opened {
                    Opened::Gone => self.forget(),
                    Opened::Stale => {}
                    Opened::NotOurs => return Err(Unfit),
                    Opened::Empty => return Ok(None),
                    Opened::Ready { relation, snapshot } => {
                        self.in_use.set(true);
                        (*ways.target).ri_RelationDesc = relation;
                        return Ok(Some(Use { of: self, ways, relation, snapshot }));
                    }
                }
            }
        }
    }

    fn forget(&self) {
        // SAFETY: a Box of `set_up`, or null.
        if let Some(kept) = unsafe { self.kept.get().as_ref() } {
            kept.stale.set(true);
        }
    }

    /// # Safety
    /// Nobody uses what is kept.
    unsafe fn tear_down(&self) {
        let kept = self.kept.replace(ptr::null_mut());
        if kept.is_null() {
            return;
        }
        // SAFETY: the caller's promise; the EState holds everything else.
        unsafe {
            if let Some(ways) = Box::from_raw(kept).ways {
                pg_sys::FreeExecutorState(ways.estate);
            }
        }
    }

    /// # Safety
    /// In a transaction.
    unsafe fn set_up(&self) -> Kept {
        let stale = Rc::new(Cell::new(false));
        // SAFETY: the names are NUL-terminated; a relation is used while it is open.
        unsafe {
            if !WATCHING.replace(true) {
                let none = pg_sys::Datum::null();
                pg_sys::CacheRegisterRelcacheCallback(Some(changed), none);
                let functions = pg_sys::SysCacheIdentifier::PROCOID as _;
                pg_sys::CacheRegisterSyscacheCallback(functions, Some(function_changed), none);
            }
            WATCHED.with_borrow_mut(|all| all.retain(|(_, stale)| stale.strong_count() > 0));
            let schema = pg_sys::get_namespace_oid(c"claims".as_ptr(), true);
            let table = pg_sys::get_relname_relid(self.name.as_ptr(), schema);
            let ways: Vec<pg_sys::Oid> = self
                .ways
                .iter()
                .map(|name| pg_sys::get_relname_relid(name.as_ptr(), schema))
                .collect();
            watch(table, &stale);
            let relation = match table {
                pg_sys::Oid::INVALID => ptr::null_mut(),
                table => pg_sys::try_table_open(table, pg_sys::AccessShareLock as _),
            };
            if relation.is_null() {
                // The next call looks again.
                stale.set(true);
                return Kept { stale, ways: None };
            }
            let ways = is_fit(relation)
                .then(|| Ways::set_up(relation, table, ways, self.columns, &stale))
                .flatten();
            pg_sys::table_close(relation, pg_sys::AccessShareLock as _);
            Kept { stale, ways }
        }
    }
}

/// Whether a table is one that this way does right.
///
/// # Safety
/// The relation is open.
unsafe fn is_fit(relation: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let class = &*(*relation).rd_rel;
        class.relkind == pg_sys::RELKIND_RELATION as std::ffi::c_char
            && class.relam == pg_sys::HEAP_TABLE_AM_OID
            && !class.relhassubclass
            && !class.relispartition
            && !class.relrowsecurity
            && (*relation).rd_rules.is_null()
            && (*relation).trigdesc.is_null()
            && {
                // The owner's rights on its own table can be taken away too.
                let rights = pg_sys::ACL_SELECT | pg_sys::ACL_INSERT | pg_sys::ACL_UPDATE;
                let all = pg_sys::AclMaskHow::ACLMASK_ALL;
                let held =
                    pg_sys::pg_class_aclmask((*relation).rd_id, class.relowner, rights as _, all);
                held == rights as pg_sys::AclMode
            }
    }
}

/// The columns, if the table has these and no others, of types as the callers write them.
///
/// # Safety
/// The relation is open.
unsafe fn columns_of(relation: pg_sys::Relation, names: &[&CStr]) -> Option<Vec<Column>> {
    const TYPES: [pg_sys::Oid; 8] = [
        pg_sys::TEXTOID,
        pg_sys::INT8OID,
        pg_sys::INT4OID,
        pg_sys::BOOLOID,
        pg_sys::BYTEAOID,
        pg_sys::TIMESTAMPTZOID,
        pg_sys::JSONBOID,
        pg_sys::TSTZRANGEOID,
    ];
    // SAFETY: the caller's promise; a column that has been dropped has no type.
    unsafe {
        let table = (*relation).rd_id;
        let live = (1..=(*(*relation).rd_rel).relnatts)
            .filter(|number| pg_sys::get_atttype(table, *number) != pg_sys::Oid::INVALID);
        if live.count() != names.len() {
            return None;
        }
        let column = |name: &&CStr| {
            let number = pg_sys::get_attnum(table, name.as_ptr());
            let place = usize::try_from(i32::from(number) - 1).ok()?;
            let (mut type_oid, mut modifier, mut collation) =
                (pg_sys::Oid::INVALID, 0, pg_sys::Oid::INVALID);
            pg_sys::get_atttypetypmodcoll(
                table,
                number,
                &mut type_oid,
                &mut modifier,
                &mut collation,
            );
            let is_plain = TYPES.contains(&type_oid)
                && modifier == -1
                && pg_sys::get_attgenerated(table, number) == 0;
            is_plain.then_some(Column { place, type_oid })
        };
        names.iter().map(column).collect()
    }
}

/// Whether an index is one that [`Use::walk`] does right, or [`Use::find`] if it is the key.
///
/// # Safety
/// The index is open, and the info is its own.
unsafe fn can_find(index: pg_sys::Relation, info: *const pg_sys::IndexInfo, is_key: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let form = &*(*index).rd_index;
        let keys = form.indnkeyatts as usize;
        let types = std::slice::from_raw_parts((*index).rd_opcintype, keys);
        let is_known = match (*(*index).rd_rel).relam {
            // Rising: the last row is found by walking back.
            pg_sys::BTREE_AM_OID => {
                (0..keys).all(|n| *(*index).rd_indoption.add(n) == 0)
                    && matches!(
                        types,
                        [pg_sys::TEXTOID]
                            | [pg_sys::TEXTOID, pg_sys::TEXTOID]
                            | [pg_sys::TEXTOID, pg_sys::INT8OID]
                            | [pg_sys::TEXTOID, pg_sys::TIMESTAMPTZOID]
                    )
            }
            pg_sys::GIST_AM_OID => types == [pg_sys::TEXTOID, pg_sys::ANYRANGEOID],
            _ => false,
        };
        let is_unique = form.indisunique && form.indimmediate && (*info).ii_Predicate.is_null();
        is_known && form.indisvalid && !form.indcheckxmin && (!is_key || is_unique)
    }
}

impl Ways {
    /// # Safety
    /// The relation is open, and fit.
    unsafe fn set_up(
        relation: pg_sys::Relation,
        table: pg_sys::Oid,
        ways: Vec<pg_sys::Oid>,
        names: &[&CStr],
        stale: &Rc<Cell<bool>>,
    ) -> Option<Self> {
        // SAFETY: everything is allocated in the EState's own context, which in the end is
        // made to live as long as the backend or until it is freed; nothing of it points
        // into the relation, but for what `Table::open` and `Use::open_indexes` set anew
        // for each use.
        unsafe {
            let columns = columns_of(relation, names)?;
            let oids = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation));
            let oids: Vec<pg_sys::Oid> = oids.iter_oid().collect();
            // That an index has become ready to be written into, as one does that is made
            // concurrently, PostgreSQL promises to tell of the index alone.
            oids.iter().for_each(|oid| watch(*oid, stale));
            let estate = pg_sys::CreateExecutorState();
            let before = pg_sys::MemoryContextSwitchTo((*estate).es_query_cxt);
            let target: *mut pg_sys::ResultRelInfo =
                pg_sys::palloc0(size_of::<pg_sys::ResultRelInfo>()).cast();
            (*target).type_ = pg_sys::NodeTag::T_ResultRelInfo;
            pg_sys::InitResultRelInfo(target, relation, 0, ptr::null_mut(), 0);
            pg_sys::MakePerTupleExprContext(estate);
            (*target).ri_IndexRelationDescs =
                pg_sys::palloc0(oids.len() * size_of::<pg_sys::Relation>()).cast();
            (*target).ri_IndexRelationInfo =
                pg_sys::palloc0(oids.len() * size_of::<*mut pg_sys::IndexInfo>()).cast();
            let mut indexes = Vec::with_capacity(oids.len());
            let mut finds = 0;
            for oid in oids {
                let index = pg_sys::index_open(oid, pg_sys::AccessShareLock as _);
                let info = pg_sys::BuildIndexInfo(index);
                let place = ways.iter().position(|way| *way == oid);
                finds += usize::from(place.is_some_and(|place| can_find(index, info, place == 0)));
                pg_sys::index_close(index, pg_sys::AccessShareLock as _);
                let condition = match (*info).ii_Predicate.is_null() {
                    true => ptr::null_mut(),
                    false => pg_sys::ExecPrepareQual((*info).ii_Predicate, estate),
                };
                (*info).ii_PredicateState = condition;
                indexes.push(Index { oid, info, condition });
            }
            // A copy of the row's shape is not counted as a use of the relation's own.
            let shape = pg_sys::CreateTupleDescCopyConstr((*relation).rd_att);
            let found =
                pg_sys::MakeSingleTupleTableSlot(shape, &raw const pg_sys::TTSOpsBufferHeapTuple);
            let new = pg_sys::MakeSingleTupleTableSlot(shape, &raw const pg_sys::TTSOpsVirtual);
            let width = (*shape).natts as usize;
            pg_sys::MemoryContextSwitchTo(before);
            if finds != ways.len() {
                pg_sys::FreeExecutorState(estate);
                return None;
            }
            pg_sys::MemoryContextSetParent((*estate).es_query_cxt, pg_sys::TopMemoryContext);
            Some(Self { table, ways, columns, estate, target, indexes, found, new, width })
        }
    }
}

/// What a column of an index has to be.
pub enum Key<'a, 'v> {
    Is(&'a DatumWithOid<'v>),
    /// An instant.
    AtMost(&'a DatumWithOid<'v>),
    /// An instant that is later.
    Before(&'a DatumWithOid<'v>),
    /// A range, in a GiST index.
    Overlaps(&'a DatumWithOid<'v>),
}

impl<'a, 'v> Key<'a, 'v> {
    /// The operator's number in its operator class, and its function. btree_gist gives
    /// equality the number that it has in a btree.
    fn compare(&self) -> (u32, u32, &'a DatumWithOid<'v>) {
        match self {
            Self::Is(value) if value.oid() == pg_sys::INT8OID => {
                (pg_sys::BTEqualStrategyNumber, pg_sys::F_INT8EQ, value)
            }
            Self::Is(value) => (pg_sys::BTEqualStrategyNumber, pg_sys::F_TEXTEQ, value),
            Self::AtMost(value) => {
                (pg_sys::BTLessEqualStrategyNumber, pg_sys::F_TIMESTAMPTZ_LE, value)
            }
            Self::Before(value) => (pg_sys::BTLessStrategyNumber, pg_sys::F_TIMESTAMPTZ_LT, value),
            Self::Overlaps(value) => {
                (pg_sys::RTOverlapStrategyNumber, pg_sys::F_RANGE_OVERLAPS, value)
            }
        }
    }
}

fn equal<'a, 'v>(key: &'a [DatumWithOid<'v>]) -> Vec<Key<'a, 'v>> {
    key.iter().map(Key::Is).collect()
}

/// A table as it is at one moment.
pub struct View<'a>(Use<'a>);

impl<'a> View<'a> {
    fn during<T>(table: Use<'a>, look: impl FnOnce(&mut Self) -> T) -> T {
        let mut view = Self(table);
        let seen = look(&mut view);
        view.0.done();
        seen
    }

    /// The last row under a key, in the order of the index; any, if it has none.
    pub fn last<T>(&mut self, way: usize, key: &[Key], read: impl FnOnce(&Row) -> T) -> Option<T> {
        self.0.last(way, key).then(|| read(&self.0.row()))
    }

    /// All rows under a key.
    pub fn all<T>(&mut self, way: usize, key: &[Key], read: impl Fn(&Row) -> T) -> Vec<T> {
        let mut all = Vec::new();
        self.0.walk(way, key, |row| {
            all.push(read(row));
            true
        });
        all
    }

    /// The rows under a key, from the last one back to where one is not wanted any more.
    pub fn back_while<T>(
        &mut self,
        way: usize,
        key: &[Key],
        read: impl Fn(&Row) -> T,
        is_wanted: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        let mut wanted = Vec::new();
        self.0.walk(way, key, |row| {
            let row = Some(read(row)).filter(&is_wanted);
            let goes_on = row.is_some();
            wanted.extend(row);
            goes_on
        });
        wanted
    }
}

/// What is looked for in an index, and where a row of it goes.
struct Wanted {
    table: pg_sys::Relation,
    index: pg_sys::Oid,
    snapshot: pg_sys::Snapshot,
    /// As [`Key::compare`] says it; so many parts of it.
    key: [(u32, u32, pg_sys::Datum); 2],
    parts: usize,
    row: *mut pg_sys::TupleTableSlot,
    width: usize,
}

/// The index is open as long as the scan is.
#[derive(Clone, Copy)]
struct Scan {
    of: pg_sys::IndexScanDesc,
    direction: pg_sys::ScanDirection::Type,
}

impl Wanted {
    /// # Safety
    /// Within [`guarded`]; the key's values are of the types of the index's first columns.
    unsafe fn begin(&self) -> Scan {
        // SAFETY: the caller's promise.
        unsafe {
            let index = raw::index_open(self.index, pg_sys::AccessShareLock as _);
            let mut keys = [pg_sys::ScanKeyData::default(); 2];
            let parts = keys.iter_mut().zip(&self.key).take(self.parts);
            for (number, (entry, &(strategy, function, value))) in parts.enumerate() {
                raw::ScanKeyEntryInitialize(
                    entry,
                    0,
                    number as pg_sys::AttrNumber + 1,
                    strategy as _,
                    pg_sys::Oid::INVALID,
                    *(*index).rd_indcollation.add(number),
                    pg_sys::Oid::from(function),
                    value,
                );
            }
            let of = raw::index_beginscan(
                self.table,
                index,
                self.snapshot,
                #[cfg(feature = "pg18")]
                ptr::null_mut(),
                self.parts as _,
                0,
            );
            raw::index_rescan(of, keys.as_mut_ptr(), self.parts as _, ptr::null_mut(), 0);
            let direction = match (*(*index).rd_indam).amcanbackward {
                true => pg_sys::ScanDirection::BackwardScanDirection,
                false => pg_sys::ScanDirection::ForwardScanDirection,
            };
            Scan { of, direction }
        }
    }

    /// The next row, with all its columns; false when there is none.
    ///
    /// # Safety
    /// Within [`guarded`]; the scan has begun, and not ended.
    unsafe fn next(&self, scan: Scan) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            raw::index_getnext_slot(scan.of, scan.direction, self.row) && {
                deform(self.row, self.width);
                true
            }
        }
    }

    /// # Safety
    /// As for [`next`](Self::next).
    unsafe fn end(scan: Scan) {
        // SAFETY: the caller's promise.
        unsafe {
            let index = (*scan.of).indexRelation;
            raw::index_endscan(scan.of);
            raw::index_close(index, pg_sys::NoLock as _);
        }
    }
}

/// # Safety
/// Within [`guarded`]; the slot holds a row.
unsafe fn deform(row: *mut pg_sys::TupleTableSlot, width: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if ((*row).tts_nvalid as usize) < width {
            raw::slot_getsomeattrs_int(row, width as _);
        }
    }
}

impl Use<'_> {
    /// Finds the row with that key into `ways.found`.
    fn find(&mut self, key: &[DatumWithOid]) -> bool {
        self.last(0, &equal(key))
    }

    /// Finds the last row under a key, in the order of the index; any, if it has none.
    fn last(&mut self, way: usize, key: &[Key]) -> bool {
        let wanted = self.wanted(way, key);
        // SAFETY: the slot keeps its row's page pinned, also when the scan is over.
        unsafe {
            guarded(|| {
                let scan = wanted.begin();
                let found = wanted.next(scan);
                Wanted::end(scan);
                found
            })
        }
    }

    /// Walks the rows that an index has under a key, from the last to the first if it has
    /// an order, for as long as `visit` says.
    fn walk(&mut self, way: usize, key: &[Key], mut visit: impl FnMut(&Row) -> bool) {
        let wanted = self.wanted(way, key);
        // SAFETY: the scan is ended before anything else is done with the slot.
        unsafe {
            let (scan, mut found) = guarded(|| {
                let scan = wanted.begin();
                (scan, wanted.next(scan))
            });
            while found && visit(&self.row()) {
                found = guarded(|| wanted.next(scan));
            }
            guarded(|| Wanted::end(scan));
        }
    }

    fn wanted(&self, way: usize, key: &[Key]) -> Wanted {
        let mut wanted = Wanted {
            table: self.relation,
            index: self.ways.ways[way],
            snapshot: self.snapshot,
            key: [(0, 0, pg_sys::Datum::null()); 2],
            parts: key.len(),
            row: self.ways.found,
            width: self.ways.width,
        };
        for (place, part) in wanted.key.iter_mut().zip(key) {
            let (strategy, function, value) = part.compare();
            let value = value.datum().expect("a key is not NULL").sans_lifetime();
            *place = (strategy, function, value);
        }
        wanted
    }

    /// The row that has been found.
    fn row(&self) -> Row {
        Row::of_slot(self.ways.found, &self.ways.columns)
    }

    /// Locks the row that has been found, in its newest version, which then is the one
    /// found. False: somebody else holds it, or it is gone.
    fn lock(&mut self) -> bool {
        let Ways { found, width, .. } = *self.ways;
        let (table, snapshot) = (self.relation, self.snapshot);
        let mut why = pg_sys::TM_FailureData::default();
        // SAFETY: the slot holds a row of this relation; its place is copied, as locking
        // fills the slot anew.
        unsafe {
            let mut place = (*found).tts_tid;
            guarded(|| {
                let result = raw::table_tuple_lock(
                    table,
                    &mut place,
                    snapshot,
                    found,
                    raw::GetCurrentCommandId(false),
                    pg_sys::LockTupleMode::LockTupleNoKeyExclusive,
                    pg_sys::LockWaitPolicy::LockWaitSkip,
                    pg_sys::TUPLE_LOCK_FLAG_FIND_LAST_VERSION as _,
                    &mut why,
                );
                result == pg_sys::TM_Result::TM_Ok && {
                    deform(found, width);
                    true
                }
            })
        }
    }

    /// Fills the new row with the values of all columns; those not named are NULL.
    fn fill(&mut self, values: &[DatumWithOid]) {
        // SAFETY: the slot is empty and as wide as the table; the values have the columns'
        // types.
        unsafe {
            let new = self.ways.new;
            for place in 0..self.ways.width {
                *(*new).tts_isnull.add(place) = true;
            }
            for (column, value) in self.ways.columns.iter().zip(values) {
                set(new, *column, value);
            }
        }
    }

    fn insert(&mut self) -> bool {
        let (table, row) = (self.relation, self.ways.row());
        // SAFETY: as ExecInsert does for ON CONFLICT DO NOTHING, without its first look at
        // the indexes: the callers have just looked. The row is speculative until the
        // indexes have been asked; when one of them says no, it is taken back.
        unsafe {
            guarded(|| {
                row.store();
                row.open_indexes();
                let transaction = raw::GetCurrentTransactionId();
                let token = raw::SpeculativeInsertionLockAcquire(transaction);
                raw::table_tuple_insert_speculative(
                    table,
                    row.new,
                    raw::GetCurrentCommandId(true),
                    0,
                    ptr::null_mut(),
                    token,
                );
                let mut conflict = false;
                row.insert_into_indexes(false, Some(&mut conflict), false);
                raw::table_tuple_complete_speculative(table, row.new, token, !conflict);
                raw::SpeculativeInsertionLockRelease(transaction);
                raw::ExecCloseIndices(row.target);
                !conflict
            })
        }
    }

    /// Writes the row that has been locked anew.
    fn update(&mut self, values: &[(usize, DatumWithOid)]) {
        let Ways { found, width, new, .. } = *self.ways;
        // SAFETY: both slots are as wide as the table; `found` holds the row as it is, and
        // `new` is empty.
        unsafe {
            ptr::copy_nonoverlapping((*found).tts_values, (*new).tts_values, width);
            ptr::copy_nonoverlapping((*found).tts_isnull, (*new).tts_isnull, width);
        }
        for (number, value) in values {
            // SAFETY: the value has the column's type.
            unsafe { set(new, self.ways.columns[number - 1], value) };
        }
        let (table, snapshot, row) = (self.relation, self.snapshot, self.ways.row());
        let mut why = pg_sys::TM_FailureData::default();
        // SAFETY: as ExecUpdate does. The row is locked by this transaction, so nobody is
        // waited for and nobody can have changed it.
        let result = unsafe {
            guarded(|| {
                raw::CheckCmdReplicaIdentity(table, pg_sys::CmdType::CMD_UPDATE);
                row.store();
                let mut place = (*found).tts_tid;
                let mut mode = 0;
                let mut indexes = Default::default();
                let result = raw::table_tuple_update(
                    table,
                    &mut place,
                    new,
                    raw::GetCurrentCommandId(true),
                    snapshot,
                    ptr::null_mut(),
                    true,
                    &mut why,
                    &mut mode,
                    &mut indexes,
                );
                #[cfg(feature = "pg15")]
                let (any, only_summarizing) = (indexes, false);
                #[cfg(not(feature = "pg15"))]
                let (any, only_summarizing) = (
                    indexes != pg_sys::TU_UpdateIndexes::TU_None,
                    indexes == pg_sys::TU_UpdateIndexes::TU_Summarizing,
                );
                if result == pg_sys::TM_Result::TM_Ok && any {
                    row.open_indexes();
                    row.insert_into_indexes(true, None, only_summarizing);
                    raw::ExecCloseIndices(row.target);
                }
                result
            })
        };
        assert!(result == pg_sys::TM_Result::TM_Ok, "a row that is locked was changed");
    }

    /// Lets everything go but the lock of the table, which is the transaction's.
    fn done(self) {
        let Ways { found, new, estate, .. } = *self.ways;
        let table = self.relation;
        // SAFETY: nothing that is let go is used any more.
        unsafe {
            guarded(|| {
                for slot in [found, new] {
                    if u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_EMPTY == 0 {
                        raw::ExecClearTuple(slot);
                    }
                }
                let context = (*estate).es_per_tuple_exprcontext;
                raw::MemoryContextReset((*context).ecxt_per_tuple_memory);
                raw::PopActiveSnapshot();
                raw::table_close(table, pg_sys::NoLock as _);
            });
        }
    }
}

/// A row to be written, and what the executor needs for that.
#[derive(Clone, Copy)]
struct NewRow<'a> {
    table: pg_sys::Oid,
    new: *mut pg_sys::TupleTableSlot,
    target: *mut pg_sys::ResultRelInfo,
    estate: *mut pg_sys::EState,
    indexes: &'a [Index],
}

impl Ways {
    fn row(&self) -> NewRow<'_> {
        let Self { table, new, target, estate, .. } = *self;
        NewRow { table, new, target, estate, indexes: &self.indexes }
    }
}

impl NewRow<'_> {
    /// Makes a row of the values that have been filled in, and asks the constraints.
    ///
    /// # Safety
    /// Within [`guarded`]; the slot is filled.
    unsafe fn store(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            raw::ExecStoreVirtualTuple(self.new);
            (*self.new).tts_tableOid = self.table;
            raw::ExecConstraints(self.target, self.new, self.estate);
        }
    }

    /// Opens the indexes that the row belongs into; the others are left out.
    ///
    /// # Safety
    /// Within [`guarded`]; the row is filled.
    unsafe fn open_indexes(&self) {
        let Self { new, target, estate, .. } = *self;
        // SAFETY: the caller's promise. An index is locked as the executor does. What an
        // index keeps from one row to the next is dropped with this call's memory.
        unsafe {
            let context = (*estate).es_per_tuple_exprcontext;
            (*context).ecxt_scantuple = new;
            (*target).ri_NumIndices = 0;
            for Index { oid, info, condition } in self.indexes {
                if !holds(*condition, context) {
                    continue;
                }
                (**info).ii_AmCache = ptr::null_mut();
                (**info).ii_Context = pg_sys::CurrentMemoryContext;
                (**info).ii_CheckedUnchanged = false;
                (**info).ii_IndexUnchanged = false;
                let n = (*target).ri_NumIndices as usize;
                *(*target).ri_IndexRelationInfo.add(n) = *info;
                *(*target).ri_IndexRelationDescs.add(n) =
                    raw::index_open(*oid, pg_sys::RowExclusiveLock as _);
                (*target).ri_NumIndices += 1;
            }
        }
    }

    /// # Safety
    /// Within [`guarded`]; the row is in the table, and the indexes are open. `conflict`
    /// only of a speculative row.
    unsafe fn insert_into_indexes(
        &self,
        update: bool,
        conflict: Option<&mut bool>,
        #[allow(unused_variables)] only_summarizing: bool,
    ) {
        let speculative = conflict.is_some();
        // SAFETY: the caller's promise.
        unsafe {
            raw::ExecInsertIndexTuples(
                self.target,
                self.new,
                self.estate,
                update,
                speculative,
                conflict.map_or(ptr::null_mut(), ptr::from_mut),
                ptr::null_mut(),
                #[cfg(not(feature = "pg15"))]
                only_summarizing,
            );
        }
    }
}

/// # Safety
/// The slot has the column, and the value is of its type.
unsafe fn set(slot: *mut pg_sys::TupleTableSlot, column: Column, value: &DatumWithOid) {
    let datum = value.datum();
    assert!(datum.is_none() || value.oid() == column.type_oid, "a column has changed its type");
    // SAFETY: the caller's promise.
    unsafe {
        *(*slot).tts_isnull.add(column.place) = datum.is_none();
        *(*slot).tts_values.add(column.place) =
            datum.map_or(pg_sys::Datum::null(), |datum| datum.sans_lifetime());
    }
}

/// Whether a row meets an index's condition; none is always met.
///
/// # Safety
/// Within [`guarded`]; the condition was prepared for rows of this shape, and the context
/// has the row.
unsafe fn holds(condition: *mut pg_sys::ExprState, context: *mut pg_sys::ExprContext) -> bool {
    if condition.is_null() {
        return true;
    }
    let mut is_null = false;
    // SAFETY: the caller's promise. A prepared expression can be evaluated.
    unsafe {
        let evaluate = (*condition).evalfunc.unwrap_unchecked();
        let before = pg_sys::MemoryContextSwitchTo((*context).ecxt_per_tuple_memory);
        let met = evaluate(condition, context, &mut is_null);
        pg_sys::MemoryContextSwitchTo(before);
        !is_null && met.value() != 0
    }
}
