/** \file gyre.h
 *  gyre: collective communication over host memory and GPUs. C11 and C++.
 *
 *  The calls have NCCL's shape, so that porting is a rename: nccl -> gyre. What NCCL does not have:
 *  V-collectives, barrier, integer bit operators, host streams, checked calls and named errors.
 *
 *  Contracts below read: Needs (what must hold), Gives, Fails (codes; what has changed then),
 *  Threads. "Collective call": every rank of the communicator makes it, in the same order.
 *
 *  Everywhere, and so not repeated:
 *  - Needs: `comm` is a handle that a call here gave; buffers are host memory on host
 * communicators.
 *  - Gives: gyreSuccess, or a code whose sentence gyreGetLastError has.
 *  - Fails: invalid-argument for a NULL where something is to be written, for a communicator that
 * is NULL or has been destroyed, and for a stream that has been; invalid-usage for one that is not
 *    ready, has been finalized, or is the parent's in a forked child, which can only destroy it and
 *    make its own.
 *  - Threads: any. Calls on one communicator take turns, calls on different ones run freely.
 */
#ifndef GYRE_GYRE_H_
#define GYRE_GYRE_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** \defgroup types Codes, types and options
 *  \{ */

#define GYRE_MAJOR 0 /**< Of this header: changes with the ABI. */
#define GYRE_MINOR 1 /**< Grows with new calls. */
#define GYRE_PATCH 0 /**< Grows with corrections. */
/** This header's version as one number that grows; gyreGetVersion gives the library's. */
#define GYRE_VERSION_CODE (GYRE_MAJOR * 10000 + GYRE_MINOR * 100 + GYRE_PATCH)

/** Marks what the library exports. */
#define GYRE_EXPORT __attribute__((visibility("default")))

/** What a call answers. The first nine equal NCCL's. */
typedef enum {
  gyreSuccess = 0,            /**< Done, or queued where a stream or group does it later. */
  gyreUnhandledCudaError = 1, /**< A CUDA call failed. Never on host communicators. */
  gyreSystemError = 2,     /**< The operating system refused; the text names the call and errno. */
  gyreInternalError = 3,   /**< A bug in gyre. */
  gyreInvalidArgument = 4, /**< Caught before any effect; the communicator stays usable. */
  gyreInvalidUsage = 5,    /**< Ranks or calls disagree; see the text for both sides. */
  gyreRemoteError = 6,     /**< A peer died or failed; the text names the rank. */
  gyreInProgress = 7,      /**< Not an error: non-blocking work is under way. */
  gyreTimeout = 8,    /**< A deadline passed; the text names who is silent and in which call. */
  gyreAborted = 9,    /**< This communicator was aborted or revoked by its user. */
  gyreNumResults = 10 /**< How many codes there are. */
} gyreResult_t;

/** Element types, NCCL's order, then bool (one byte, 0 or 1). */
typedef enum {
  gyreInt8 = 0,        /**< Signed, 1 byte. */
  gyreChar = 0,        /**< Another name of gyreInt8. */
  gyreUint8 = 1,       /**< Unsigned, 1 byte. */
  gyreInt32 = 2,       /**< Signed, 4 bytes. */
  gyreInt = 2,         /**< Another name of gyreInt32. */
  gyreUint32 = 3,      /**< Unsigned, 4 bytes. */
  gyreInt64 = 4,       /**< Signed, 8 bytes. */
  gyreUint64 = 5,      /**< Unsigned, 8 bytes. */
  gyreFloat16 = 6,     /**< IEEE binary16. */
  gyreHalf = 6,        /**< Another name of gyreFloat16. */
  gyreFloat32 = 7,     /**< IEEE binary32. */
  gyreFloat = 7,       /**< Another name of gyreFloat32. */
  gyreFloat64 = 8,     /**< IEEE binary64. */
  gyreDouble = 8,      /**< Another name of gyreFloat64. */
  gyreBfloat16 = 9,    /**< The upper half of a binary32. */
  gyreFloat8e4m3 = 10, /**< 1 byte, no infinity: past 448 is NaN. */
  gyreFloat8e5m2 = 11, /**< 1 byte with infinity: the upper half of a binary16. */
  gyreBool = 12,       /**< 1 byte, 0 or 1. */
  gyreNumTypes = 13    /**< How many types there are. */
} gyreDataType_t;

/** Reductions. The first five equal NCCL's; handles from gyreRedOpCreatePreMulSum are >= 16.
 *  Integers wrap modulo 2^bits in sum and prod; avg of integers is the wrapped sum divided,
 *  truncated toward zero. max and min: a NaN operand gives NaN; max(-0,+0) is +0, min is -0.
 *  float16, bfloat16 and float8 are added in float32 and rounded once per place where a rank
 *  reduces; avg of floats multiplies the float32 (float64) sum by 1/n before that rounding.
 *  bool: sum and max are "or", prod and min are "and"; avg and pre-multiplied sum are not defined.
 */
typedef enum {
  gyreSum = 0,              /**< x0 + x1 + ... */
  gyreProd = 1,             /**< x0 * x1 * ... */
  gyreMax = 2,              /**< The largest. */
  gyreMin = 3,              /**< The smallest. */
  gyreAvg = 4,              /**< The sum divided by the number of ranks. */
  gyreBand = 5,             /**< Bitwise and. Integers and bool only, as the next two. */
  gyreBor = 6,              /**< Bitwise or. */
  gyreBxor = 7,             /**< Bitwise exclusive or. */
  gyreNumOps = 8,           /**< How many there are without handles. */
  gyreMaxRedOp = 0x7fffffff /**< Makes room for handles in the enumeration. */
} gyreRedOp_t;

/** Where the scalar of a pre-multiplied sum lives and when it is read. */
typedef enum {
  gyreScalarDevice = 0,       /**< Read from the pointer when the collective runs. */
  gyreScalarHostImmediate = 1 /**< Read from the pointer during the create call. */
} gyreScalarResidence_t;

/** One rank's membership in a group of ranks. A stale handle is an error, not a crash. */
typedef struct gyreComm* gyreComm_t;
/** Memory registered by all ranks together. */
typedef struct gyreWindow* gyreWindow_t;

/** Stream: a CUDA stream on GPU communicators. On host communicators NULL means "in the calling
 *  thread, done on return"; otherwise a stream of gyreHostStreamCreate. */
typedef struct gyreStream* gyreStream_t;

/** Size of an id. */
#define GYRE_UNIQUE_ID_BYTES 128
/** Names one job: root address(es), a 128-bit secret, the protocol version. Passed by value; bring
 *  it to the other ranks over a channel you trust: whoever holds it can join the job. */
typedef struct {
  char internal[GYRE_UNIQUE_ID_BYTES]; /**< Opaque, with a checksum; copy it whole. */
} gyreUniqueId;

/** A number in gyreConfig_t that takes its default. */
#define GYRE_CONFIG_UNDEF_INT INT_MIN
/** Options of one communicator. Always start from GYRE_CONFIG_INITIALIZER; numbers below
 *  0 are refused. Ranks whose bufferBytes, deterministic or netName differ get invalid-usage. */
typedef struct {
  size_t size;          /**< sizeof(gyreConfig_t) of the caller: older programs' are shorter. */
  unsigned int magic;   /**< Tells an initialised config from a random one. */
  unsigned int version; /**< GYRE_VERSION_CODE of the caller. */
  int blocking;         /**< 1 (default): init returns when done; 0: it answers in-progress. */
  int maxChannels;      /**< Accepted for porting; host communicators have one channel. */
  int bufferBytes;      /**< Bytes of one FIFO slot; default GYRE_SLOT_BYTES. */
  int timeoutMs;        /**< Deadline of every operation; 0 never; default GYRE_TIMEOUT. */
  int initTimeoutMs;    /**< Deadline of init; 0 never; default GYRE_INIT_TIMEOUT. */
  int deterministic;    /**< 1: results depend on rank order alone; default GYRE_DETERMINISTIC. */
  int shrinkShare;      /**< Accepted for porting; no effect. */
  int splitShare;       /**< Accepted for porting; no effect. */
  const char* netName;  /**< "auto", "shm" or "tcp"; NULL: GYRE_TRANSPORT; copied. */
  const char* commName; /**< Shown in logs and status; copied. */
} gyreConfig_t;

/** All defaults: `gyreConfig_t config = GYRE_CONFIG_INITIALIZER;`. */
#define GYRE_CONFIG_INITIALIZER                                                  \
  {                                                                              \
    sizeof(gyreConfig_t), 0x67797265u, GYRE_VERSION_CODE, GYRE_CONFIG_UNDEF_INT, \
        GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT,     \
        GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT,     \
        GYRE_CONFIG_UNDEF_INT, NULL, NULL                                        \
  }

/** Answer of gyreGroupSimulateEnd. */
typedef struct {
  size_t size;          /**< sizeof(gyreSimInfo_t) of the caller. */
  unsigned int magic;   /**< Tells an initialised one from a random one. */
  unsigned int version; /**< GYRE_VERSION_CODE of the caller. */
  float estimatedTime;  /**< Microseconds by the cost model. */
} gyreSimInfo_t;
/** What gyreGroupSimulateEnd wants its argument to begin as. */
#define GYRE_SIM_INFO_INITIALIZER \
  { sizeof(gyreSimInfo_t), 0x67797273u, GYRE_VERSION_CODE, 0.0f }

/** \} */

/** \defgroup errors Version and errors
 *  \{ */

/** Gives: GYRE_VERSION_CODE of the loaded library. */
GYRE_EXPORT gyreResult_t gyreGetVersion(int* version);
/** Gives: a constant text for a code, never NULL. */
GYRE_EXPORT const char* gyreGetErrorString(gyreResult_t result);
/** Gives: the full sentence of comm's last failure; of this thread's with NULL or a communicator
 * that is no more; "" if there was none. Needs: read before this thread's next call of it, or, with
 * NULL, before its next failure. */
GYRE_EXPORT const char* gyreGetLastError(gyreComm_t comm);

/** \} */

/** \defgroup life Life of a communicator
 *  \{ */

/** Gives: an id; the calling process serves as root from now on: a thread that listens on one port
 *  per advertised address until the job's ranks have met, or the process ends. Fails: system;
 *  invalid-usage for a malformed GYRE_ variable. */
GYRE_EXPORT gyreResult_t gyreGetUniqueId(gyreUniqueId* id);

/** Collective over `size` ranks that hold the same id. Needs: 0 <= rank < size, each rank once; the
 *  process that made the id stays alive until all ranks have joined. Gives: a communicator, inside
 * a group at its end. Fails: invalid-argument (also a damaged id), invalid-usage (two ranks alike;
 *  sizes, versions or settings differ), timeout (names the missing ranks), remote, system; *comm is
 *  NULL then. Threads: several ranks in one thread need gyreGroupStart/End around their calls. */
GYRE_EXPORT gyreResult_t gyreCommInitRank(gyreComm_t* comm, int size, gyreUniqueId id, int rank);
/** As gyreCommInitRank with options (NULL: defaults). With blocking 0, outside a group, it answers
 *  in-progress at once: poll gyreCommGetAsyncError until it is success. Abort or destroy stop it.
 */
GYRE_EXPORT gyreResult_t gyreCommInitRankConfig(gyreComm_t* comm, int size, gyreUniqueId id,
                                                int rank, gyreConfig_t* config);
/** As gyreCommInitRankConfig with `id_count` ids: ranks are split in contiguous blocks, one root
 *  each; for large jobs. Needs: 1 <= id_count <= size, the same ids in the same order on all ranks.
 */
GYRE_EXPORT gyreResult_t gyreCommInitRankScalable(gyreComm_t* comm, int size, int rank,
                                                  int id_count, gyreUniqueId* ids,
                                                  gyreConfig_t* config);
/** Makes `count` ranks in this one process. Needs: `devices` is NULL or holds -1, host memory.
 *  Gives: comms[0..count). Fails: as gyreCommInitRank; all of them are NULL then. */
GYRE_EXPORT gyreResult_t gyreCommInitAll(gyreComm_t* comms, int count, const int* devices);
/** Reads rank, size and meeting point from the launcher: GYRE_RANK/GYRE_SIZE/GYRE_ROOT, torchrun,
 *  Open MPI, MPICH/Hydra (PMI), Slurm; alone it makes one rank. Returns when done, whatever
 *  config->blocking says, also inside a group. Fails: as gyreCommInitRank; invalid-usage names the
 *  variable that is missing or malformed. */
GYRE_EXPORT gyreResult_t gyreCommInitFromEnv(gyreComm_t* comm, gyreConfig_t* config);

/** A color that takes part in a split and gets no child. */
#define GYRE_SPLIT_NOCOLOR (-1)
/** Collective over comm. Ranks of one color form a new communicator, ordered by (key, rank). Needs:
 *  color >= 0 or GYRE_SPLIT_NOCOLOR. Gives: *child, NULL for GYRE_SPLIT_NOCOLOR, inside a group at
 *  its end; with config NULL it has its parent's options. It does not need its parent afterwards.
 *  Fails: as a collective; *child is NULL then. */
GYRE_EXPORT gyreResult_t gyreCommSplit(gyreComm_t comm, int color, int key, gyreComm_t* child,
                                       gyreConfig_t* config);
/** Shrink after the work on the old communicator is done. */
#define GYRE_SHRINK_DEFAULT 0
/** Shrink now: stops what is in flight on this rank. */
#define GYRE_SHRINK_ABORT 1
/** Collective over the survivors alone, also after a failure or revoke. Needs: the same
 *  `exclude_count` ranks in `exclude` on all of them, not this rank. Gives: *child without those,
 * its ranks in the old order. Exchanges nothing: who has died and was not excluded is found out by
 * the child's first operation. Fails: invalid-argument; *child is NULL then. */
GYRE_EXPORT gyreResult_t gyreCommShrink(gyreComm_t comm, int* exclude, int exclude_count,
                                        gyreComm_t* child, gyreConfig_t* config, int flags);
/** Waits until work on comm is done, that of streams too; afterwards it is good for destroy, abort
 *  and gyreCommGetAsyncError alone. What a still open group has collected is refused at its end. */
GYRE_EXPORT gyreResult_t gyreCommFinalize(gyreComm_t comm);
/** Frees comm. Work that streams have not begun fails with invalid-argument: finalize first to keep
 *  it. Waits for calls of other threads that are inside comm, not for peers; peers' unfinished
 *  operations with this rank fail. Of several threads that end one communicator one succeeds. */
GYRE_EXPORT gyreResult_t gyreCommDestroy(gyreComm_t comm);
/** Stops what is in flight on this rank, tells the peers, frees comm; returns within 2 s whatever
 *  they do. Threads: also while another is inside a call on comm, which then fails with aborted. */
GYRE_EXPORT gyreResult_t gyreCommAbort(gyreComm_t comm);
/** Stops what is in flight and refuses new work, here with aborted and on the peers with remote;
 *  comm stays good for shrink, abort and destroy. Needs: flags 0. Threads: as gyreCommAbort. */
GYRE_EXPORT gyreResult_t gyreCommRevoke(gyreComm_t comm, int flags);
/** Gives: the communicator's state: success, in-progress, or its first failure. Never waits. */
GYRE_EXPORT gyreResult_t gyreCommGetAsyncError(gyreComm_t comm, gyreResult_t* state);
/** Gives: the number of ranks. */
GYRE_EXPORT gyreResult_t gyreCommCount(gyreComm_t comm, int* count);
/** Gives: this rank. */
GYRE_EXPORT gyreResult_t gyreCommUserRank(gyreComm_t comm, int* rank);
/** Gives: the CUDA device, -1 for host memory. */
GYRE_EXPORT gyreResult_t gyreCommDevice(gyreComm_t comm, int* device);

/** \} */

/** \defgroup collectives Collectives and messages
 *  Counts are elements. A count of 0 is a success that moves nothing (pointers may be NULL).
 *
 *  In place: all_reduce, reduce, broadcast send == recv; reduce_scatter recv == send + rank*count;
 *  all_gather send == recv + rank*count; gather and scatter: the root's own block likewise. Any
 * other overlap of the buffers is undefined. Results are bit-identical on all ranks.
 *
 *  Done on return with stream NULL; with a stream once it has come to it; inside a group at its
 * end. Buffers must live until then.
 *
 *  Fails: invalid-argument (nothing happened); invalid-usage when ranks' calls differ (both calls
 * are named); remote, timeout, system, aborted: the communicator is then good for abort, shrink,
 * destroy. What fails on a stream is answered by the stream's next call.
 *  \{ */

/** recv[i] = op over ranks of send[i], on every rank. */
GYRE_EXPORT gyreResult_t gyreAllReduce(const void* send, void* recv, size_t count,
                                       gyreDataType_t type, gyreRedOp_t op, gyreComm_t comm,
                                       gyreStream_t stream);
/** recv = root's send on every rank; `send` is read on root alone. */
GYRE_EXPORT gyreResult_t gyreBroadcast(const void* send, void* recv, size_t count,
                                       gyreDataType_t type, int root, gyreComm_t comm,
                                       gyreStream_t stream);
/** gyreBroadcast in place. */
GYRE_EXPORT gyreResult_t gyreBcast(void* buffer, size_t count, gyreDataType_t type, int root,
                                   gyreComm_t comm, gyreStream_t stream);
/** recv on root = op over ranks of send; `recv` is not touched elsewhere. */
GYRE_EXPORT gyreResult_t gyreReduce(const void* send, void* recv, size_t count, gyreDataType_t type,
                                    gyreRedOp_t op, int root, gyreComm_t comm, gyreStream_t stream);
/** recv holds size*count elements: block r is rank r's send. */
GYRE_EXPORT gyreResult_t gyreAllGather(const void* send, void* recv, size_t count,
                                       gyreDataType_t type, gyreComm_t comm, gyreStream_t stream);
/** send holds size*count elements: recv on rank r = op over ranks of block r. */
GYRE_EXPORT gyreResult_t gyreReduceScatter(const void* send, void* recv, size_t count,
                                           gyreDataType_t type, gyreRedOp_t op, gyreComm_t comm,
                                           gyreStream_t stream);
/** Block b of rank r's send becomes block r of rank b's recv; blocks of count. Not in place. */
GYRE_EXPORT gyreResult_t gyreAlltoAll(const void* send, void* recv, size_t count,
                                      gyreDataType_t type, gyreComm_t comm, gyreStream_t stream);
/** recv on root: block r is rank r's send; `recv` is not touched elsewhere. */
GYRE_EXPORT gyreResult_t gyreGather(const void* send, void* recv, size_t count, gyreDataType_t type,
                                    int root, gyreComm_t comm, gyreStream_t stream);
/** recv on rank r = block r of root's send; `send` is read on root alone. */
GYRE_EXPORT gyreResult_t gyreScatter(const void* send, void* recv, size_t count,
                                     gyreDataType_t type, int root, gyreComm_t comm,
                                     gyreStream_t stream);

/** Rank r gives counts[r] elements, found at recv + offsets[r] on every rank afterwards.
 *  Needs: counts and offsets (in elements, size entries) alike on all ranks; read during the call.
 */
GYRE_EXPORT gyreResult_t gyreAllGatherV(const void* send, void* recv, const size_t* counts,
                                        const size_t* offsets, gyreDataType_t type, gyreComm_t comm,
                                        gyreStream_t stream);
/** Rank r receives the reduction of counts[r] elements at send + offsets[r]. Needs: as above. */
GYRE_EXPORT gyreResult_t gyreReduceScatterV(const void* send, void* recv, const size_t* counts,
                                            const size_t* offsets, gyreDataType_t type,
                                            gyreRedOp_t op, gyreComm_t comm, gyreStream_t stream);
/** send_counts[b] elements at send + send_offsets[b] go to rank b, which finds them at its
 *  recv + recv_offsets[me]. Needs: my send_counts[b] equals b's recv_counts[me] (checked). */
GYRE_EXPORT gyreResult_t gyreAlltoAllV(const void* send, const size_t* send_counts,
                                       const size_t* send_offsets, void* recv,
                                       const size_t* recv_counts, const size_t* recv_offsets,
                                       gyreDataType_t type, gyreComm_t comm, gyreStream_t stream);
/** Done on a rank only when every rank has come here. */
GYRE_EXPORT gyreResult_t gyreBarrier(gyreComm_t comm, gyreStream_t stream);

/** Point to point. The k-th send from a to b meets the k-th receive of b from a; counts and types
 *  must agree (checked). Sends that cross without a group around them may wait for each other until
 *  the time-out. Sending to oneself needs a group. */
GYRE_EXPORT gyreResult_t gyreSend(const void* send, size_t count, gyreDataType_t type, int peer,
                                  gyreComm_t comm, gyreStream_t stream);
/** The other end of gyreSend. */
GYRE_EXPORT gyreResult_t gyreRecv(void* recv, size_t count, gyreDataType_t type, int peer,
                                  gyreComm_t comm, gyreStream_t stream);

/** Makes `sum over ranks of scalar_of_rank * x`. Needs: *scalar is of `type`, which is not bool,
 * and lives as long as operations with gyreScalarDevice. Gives: a handle for that type on comm
 * alone. */
GYRE_EXPORT gyreResult_t gyreRedOpCreatePreMulSum(gyreRedOp_t* op, void* scalar,
                                                  gyreDataType_t type,
                                                  gyreScalarResidence_t residence, gyreComm_t comm);
/** Needs: a handle made on comm. May be called right after enqueue. */
GYRE_EXPORT gyreResult_t gyreRedOpDestroy(gyreRedOp_t op, gyreComm_t comm);

/** \} */

/** \defgroup groups Groups
 *  A group belongs to the thread that started it. It holds either inits and splits or operations.
 *  \{ */

/** Until the matching gyreGroupEnd, calls of this thread are collected. Nestable: the outermost end
 *  counts. */
GYRE_EXPORT gyreResult_t gyreGroupStart(void);
/** Runs what was collected as one: on each communicator collectives in order, then sends and
 * receives, which complete in any order. On streams it begins when all of them have come to it.
 *  Fails: the first failure of the group; invalid-usage without a start, for inits and splits
 * beside operations, for calls with a stream beside calls without. What the calls themselves
 * refused is not part of the group and not answered again. */
GYRE_EXPORT gyreResult_t gyreGroupEnd(void);
/** Ends the group without running it; inits give no communicator. Gives: info->estimatedTime by the
 *  cost model, as if the calls ran one after the other. Needs: `info` from
 * GYRE_SIM_INFO_INITIALIZER; otherwise the group stays open. */
GYRE_EXPORT gyreResult_t gyreGroupSimulateEnd(gyreSimInfo_t* info);

/** \} */

/** \defgroup memory Memory
 *  \{ */

/** Gives: zeroed memory, on a page, that local peers can map, so that collectives on it copy less.
 *  After a fork parent and child share it. Fails: system when the machine has not so much left. */
GYRE_EXPORT gyreResult_t gyreMemAlloc(void** pointer, size_t bytes);
/** Needs: a pointer of gyreMemAlloc, in no operation under way; or NULL. Fails: invalid-argument
 * for any other pointer. */
GYRE_EXPORT gyreResult_t gyreMemFree(void* pointer);
/** Local call: tells comm that [buffer, buffer+bytes) will be used again and again. On host
 *  communicators it gains nothing: memory of gyreMemAlloc needs no registration. Gives: a handle.
 */
GYRE_EXPORT gyreResult_t gyreCommRegister(gyreComm_t comm, void* buffer, size_t bytes,
                                          void** handle);
/** Needs: a handle of gyreCommRegister on comm, not yet deregistered, or NULL. */
GYRE_EXPORT gyreResult_t gyreCommDeregister(gyreComm_t comm, void* handle);
/** A window without promises. */
#define GYRE_WIN_DEFAULT 0
/** Promises the same offsets in the window on all ranks in every call. */
#define GYRE_WIN_COLL_SYMMETRIC 1
/** Collective form of gyreCommRegister. Needs: the same flags on all ranks. Gives: a window. Fails:
 * as a collective. */
GYRE_EXPORT gyreResult_t gyreCommWindowRegister(gyreComm_t comm, void* buffer, size_t bytes,
                                                gyreWindow_t* window, int flags);
/** Local call. Needs: a window of comm, not yet deregistered, or NULL. */
GYRE_EXPORT gyreResult_t gyreCommWindowDeregister(gyreComm_t comm, gyreWindow_t window);

/** \} */

/** \defgroup streams Host streams
 *  \{ */

/** An in-order queue with a thread of its own: calls on it return at once and run one by one.
 *  Fails: system when there is no more thread to be had. */
GYRE_EXPORT gyreResult_t gyreHostStreamCreate(gyreStream_t* stream);
/** Waits for what is queued, then frees. Fails: as gyreHostStreamSynchronize; it is freed then too.
 */
GYRE_EXPORT gyreResult_t gyreHostStreamDestroy(gyreStream_t stream);
/** Waits until all that was queued is done. Fails: the first failure since the last call. */
GYRE_EXPORT gyreResult_t gyreHostStreamSynchronize(gyreStream_t stream);
/** Gives: success when idle, in-progress when not, or the first failure, which stays. Never waits.
 */
GYRE_EXPORT gyreResult_t gyreHostStreamQuery(gyreStream_t stream);

/** \} */

#ifdef __cplusplus
}
#endif

#endif /* GYRE_GYRE_H_ */
