//! Functions of PostgreSQL without the guard that pgrx puts around each of them.
//!
//! The guard turns an error of PostgreSQL, which jumps, into a panic, which unwinds. For a
//! function that does little it costs more than the function itself, and a call of ours
//! makes a hundred of those. [`guarded`] puts one guard around a series of them.

use std::ffi::c_int;
use std::mem::needs_drop;

use pgrx::pg_sys::*;

/// Runs a series of the functions below, and of nothing else, under one guard.
///
/// # Safety
/// `calls` calls only what stands below or what cannot raise an error, does not panic, and
/// makes nothing that would have to be dropped: an error jumps out of it.
pub unsafe fn guarded<T, F: FnOnce() -> T>(calls: F) -> T {
    const { assert!(!needs_drop::<F>() && !needs_drop::<T>(), "an error drops nothing") };
    // SAFETY: the caller's promise.
    unsafe { ffi::pg_guard_ffi_boundary(calls) }
}

unsafe extern "C-unwind" {
    pub fn try_table_open(table: Oid, lock: LOCKMODE) -> Relation;
    pub fn table_close(table: Relation, lock: LOCKMODE);
    pub fn GetUserId() -> Oid;
    pub fn RelationGetNumberOfBlocksInFork(table: Relation, fork: ForkNumber::Type) -> BlockNumber;

    pub fn CommandCounterIncrement();
    pub fn GetTransactionSnapshot() -> Snapshot;
    pub fn PushActiveSnapshot(snapshot: Snapshot);
    pub fn GetActiveSnapshot() -> Snapshot;
    pub fn PopActiveSnapshot();

    pub fn index_open(index: Oid, lock: LOCKMODE) -> Relation;
    pub fn index_close(index: Relation, lock: LOCKMODE);
    pub fn ScanKeyEntryInitialize(
        entry: ScanKey,
        flags: c_int,
        column: AttrNumber,
        strategy: StrategyNumber,
        subtype: Oid,
        collation: Oid,
        function: RegProcedure,
        argument: Datum,
    );
    pub fn index_beginscan(
        table: Relation,
        index: Relation,
        snapshot: Snapshot,
        #[cfg(feature = "pg18")] instrument: *mut IndexScanInstrumentation,
        keys: c_int,
        order_bys: c_int,
    ) -> IndexScanDesc;
    pub fn index_rescan(
        scan: IndexScanDesc,
        keys: ScanKey,
        count: c_int,
        order_bys: ScanKey,
        order_by_count: c_int,
    );
    pub fn index_getnext_slot(
        scan: IndexScanDesc,
        direction: ScanDirection::Type,
        slot: *mut TupleTableSlot,
    ) -> bool;
    pub fn index_endscan(scan: IndexScanDesc);

    #[link_name = "ExecClearTuple__pgrx_cshim"]
    pub fn ExecClearTuple(slot: *mut TupleTableSlot) -> *mut TupleTableSlot;
    pub fn ExecStoreVirtualTuple(slot: *mut TupleTableSlot) -> *mut TupleTableSlot;
    pub fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, columns: c_int);
    pub fn MemoryContextReset(context: MemoryContext);

    pub fn ExecConstraints(
        target: *mut ResultRelInfo,
        slot: *mut TupleTableSlot,
        estate: *mut EState,
    );
    pub fn ExecCloseIndices(target: *mut ResultRelInfo);
    pub fn ExecInsertIndexTuples(
        target: *mut ResultRelInfo,
        slot: *mut TupleTableSlot,
        estate: *mut EState,
        update: bool,
        no_duplicate_error: bool,
        conflict: *mut bool,
        arbiters: *mut List,
        #[cfg(not(feature = "pg15"))] only_summarizing: bool,
    ) -> *mut List;
    pub fn CheckCmdReplicaIdentity(table: Relation, command: CmdType::Type);
    pub fn GetCurrentTransactionId() -> TransactionId;
    pub fn GetCurrentCommandId(used: bool) -> CommandId;
    pub fn SpeculativeInsertionLockAcquire(transaction: TransactionId) -> uint32;
    pub fn SpeculativeInsertionLockRelease(transaction: TransactionId);
    #[link_name = "table_tuple_insert_speculative__pgrx_cshim"]
    pub fn table_tuple_insert_speculative(
        table: Relation,
        slot: *mut TupleTableSlot,
        command: CommandId,
        options: c_int,
        bulk: *mut BulkInsertStateData,
        token: uint32,
    );
    #[link_name = "table_tuple_complete_speculative__pgrx_cshim"]
    pub fn table_tuple_complete_speculative(
        table: Relation,
        slot: *mut TupleTableSlot,
        token: uint32,
        succeeded: bool,
    );
    #[link_name = "table_tuple_lock__pgrx_cshim"]
    pub fn table_tuple_lock(
        table: Relation,
        place: ItemPointer,
        snapshot: Snapshot,
        slot: *mut TupleTableSlot,
        command: CommandId,
        mode: LockTupleMode::Type,
        wait: LockWaitPolicy::Type,
        flags: uint8,
        failure: *mut TM_FailureData,
    ) -> TM_Result::Type;
    #[link_name = "table_tuple_update__pgrx_cshim"]
    pub fn table_tuple_update(
        table: Relation,
        place: ItemPointer,
        slot: *mut TupleTableSlot,
        command: CommandId,
        snapshot: Snapshot,
        crosscheck: Snapshot,
        wait: bool,
        failure: *mut TM_FailureData,
        mode: *mut LockTupleMode::Type,
        #[cfg(feature = "pg15")] indexes: *mut bool,
        #[cfg(not(feature = "pg15"))] indexes: *mut TU_UpdateIndexes::Type,
    ) -> TM_Result::Type;

    pub fn int64_to_numeric(value: int64) -> Numeric;
    pub fn pushJsonbValue(
        state: *mut *mut JsonbParseState,
        token: JsonbIteratorToken::Type,
        value: *mut JsonbValue,
    ) -> *mut JsonbValue;
    pub fn JsonbValueToJsonb(value: *mut JsonbValue) -> *mut Jsonb;
}
