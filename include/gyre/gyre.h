/* gyre: collective communication over host memory and GPUs. C11 and C++.
 *
 * The calls have NCCL's shape, so that porting is a rename: nccl -> gyre. What NCCL does not have:
 * V-collectives, barrier, integer bit operators, host streams, checked calls and named errors.
 *
 * Contracts below read: Needs (what must hold), Gives, Fails (codes; what has changed then), Threads.
 * "Collective call": every rank of the communicator makes it, in the same order.
 * Everywhere: `comm` is not NULL and alive; pointers are host memory on host communicators.
 */
#ifndef GYRE_GYRE_H_
#define GYRE_GYRE_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GYRE_MAJOR 0
#define GYRE_MINOR 1
#define GYRE_PATCH 0
#define GYRE_VERSION_CODE (GYRE_MAJOR * 10000 + GYRE_MINOR * 100 + GYRE_PATCH)

#define GYRE_EXPORT __attribute__((visibility("default")))

/** What a call answers. The first nine equal NCCL's. */
typedef enum {
  gyreSuccess = 0,
  gyreUnhandledCudaError = 1,
  gyreSystemError = 2,     /**< The operating system refused; the text names the call and errno. */
  gyreInternalError = 3,   /**< A bug in gyre. */
  gyreInvalidArgument = 4, /**< Caught before any effect; the communicator stays usable. */
  gyreInvalidUsage = 5,    /**< Ranks or calls disagree; see the text for both sides. */
  gyreRemoteError = 6,     /**< A peer died or failed; the text names the rank. */
  gyreInProgress = 7,      /**< Not an error: non-blocking work is under way. */
  gyreTimeout = 8,         /**< A deadline passed; the text names who is silent and in which call. */
  gyreAborted = 9,         /**< This communicator was aborted or revoked by its user. */
  gyreNumResults = 10
} gyreResult_t;

/** Element types, NCCL's order, then bool (one byte, 0 or 1). */
typedef enum {
  gyreInt8 = 0, gyreChar = 0,
  gyreUint8 = 1,
  gyreInt32 = 2, gyreInt = 2,
  gyreUint32 = 3,
  gyreInt64 = 4,
  gyreUint64 = 5,
  gyreFloat16 = 6, gyreHalf = 6,
  gyreFloat32 = 7, gyreFloat = 7,
  gyreFloat64 = 8, gyreDouble = 8,
  gyreBfloat16 = 9,
  gyreFloat8e4m3 = 10,
  gyreFloat8e5m2 = 11,
  gyreBool = 12,
  gyreNumTypes = 13
} gyreDataType_t;

/** Reductions. The first five equal NCCL's; handles from gyreRedOpCreatePreMulSum are >= 16.
 *  Integers wrap modulo 2^bits in sum and prod; avg of integers is the wrapped sum divided,
 *  truncated toward zero. max and min: a NaN operand gives NaN; max(-0,+0) is +0, min is -0.
 *  float16, bfloat16 and float8 are added in float32 and rounded once per place where a rank reduces;
 *  avg of floats multiplies the float32 (float64) sum by 1/n before that rounding.
 *  bool: sum and max are "or", prod and min are "and"; avg and pre-multiplied sum are not defined. */
typedef enum {
  gyreSum = 0,
  gyreProd = 1,
  gyreMax = 2,
  gyreMin = 3,
  gyreAvg = 4,
  gyreBand = 5, /**< Integers and bool only, as bor and bxor. */
  gyreBor = 6,
  gyreBxor = 7,
  gyreNumOps = 8,
  gyreMaxRedOp = 0x7fffffff
} gyreRedOp_t;

/** Where the scalar of a pre-multiplied sum lives and when it is read. */
typedef enum {
  gyreScalarDevice = 0,       /**< Read from the pointer when the collective runs. */
  gyreScalarHostImmediate = 1 /**< Read from the pointer during the create call. */
} gyreScalarResidence_t;

typedef struct gyreComm* gyreComm_t;
typedef struct gyreWindow* gyreWindow_t;

/** Stream: a CUDA stream on GPU communicators. On host communicators NULL means "in the calling
 *  thread, done on return"; otherwise a stream of gyreHostStreamCreate. */
typedef struct gyreStream* gyreStream_t;

#define GYRE_UNIQUE_ID_BYTES 128
/** Names one job: root address(es), a 128-bit secret, the protocol version. Passed by value; bring
 *  it to the other ranks over a channel you trust: whoever holds it can join the job. */
typedef struct { char internal[GYRE_UNIQUE_ID_BYTES]; } gyreUniqueId;

#define GYRE_CONFIG_UNDEF_INT INT_MIN
/** Options of one communicator. Always start from GYRE_CONFIG_INITIALIZER. */
typedef struct {
  size_t size;           /**< sizeof(gyreConfig_t) of the caller. */
  unsigned int magic;
  unsigned int version;
  int blocking;          /**< 1 (default): calls return when done; 0: init may answer in-progress. */
  int maxChannels;       /**< Accepted for porting; host communicators have one channel. */
  int bufferBytes;       /**< Bytes of one FIFO slot; default GYRE_SLOT_BYTES. */
  int timeoutMs;         /**< Deadline of every operation; 0 never; default GYRE_TIMEOUT. */
  int initTimeoutMs;     /**< Deadline of init; 0 never; default GYRE_INIT_TIMEOUT. */
  int deterministic;     /**< 1: results depend on rank order alone; default GYRE_DETERMINISTIC. */
  int shrinkShare;       /**< Accepted for porting; no effect. */
  int splitShare;        /**< Accepted for porting; no effect. */
  const char* netName;   /**< "auto", "shm" or "tcp"; NULL: GYRE_TRANSPORT; copied. */
  const char* commName;  /**< Shown in logs and status; copied. */
} gyreConfig_t;

#define GYRE_CONFIG_INITIALIZER                                                                  \
  {                                                                                              \
    sizeof(gyreConfig_t), 0x67797265u, GYRE_VERSION_CODE, GYRE_CONFIG_UNDEF_INT,                 \
        GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT,                     \
        GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT, GYRE_CONFIG_UNDEF_INT,                     \
        GYRE_CONFIG_UNDEF_INT, NULL, NULL                                                        \
  }

/** Answer of gyreGroupSimulateEnd. */
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime; /**< Microseconds by the cost model. */
} gyreSimInfo_t;
#define GYRE_SIM_INFO_INITIALIZER {sizeof(gyreSimInfo_t), 0x67797273u, GYRE_VERSION_CODE, 0.0f}

/* ---- Version and errors ---------------------------------------------------------------------- */

/** Gives: GYRE_VERSION_CODE of the loaded library. Threads: any. */
GYRE_EXPORT gyreResult_t gyreGetVersion(int* version);
/** Gives: a constant text for a code, never NULL. Threads: any. */
GYRE_EXPORT const char* gyreGetErrorString(gyreResult_t result);
/** Gives: the last failure's full sentence (comm's, or with NULL this thread's last), "" if none.
 *  Valid until the next failing call on the same comm or thread. */
GYRE_EXPORT const char* gyreGetLastError(gyreComm_t comm);

/* ---- Life of a communicator ------------------------------------------------------------------ */

/** Needs: a rank that stays alive until all ranks have joined. Gives: an id; the calling process
 *  serves as root from now on (a thread listening on one port). Fails: system. Threads: any. */
GYRE_EXPORT gyreResult_t gyreGetUniqueId(gyreUniqueId* id);

/** Collective over `size` ranks that hold the same id. Needs: 0 <= rank < size, each rank once.
 *  Gives: a communicator. Fails: invalid-argument, invalid-usage (two ranks alike, sizes or
 *  versions differ), timeout (names the missing ranks), system; *comm is NULL then.
 *  Threads: any; several ranks in one thread need gyreGroupStart/End around their calls. */
GYRE_EXPORT gyreResult_t gyreCommInitRank(gyreComm_t* comm, int size, gyreUniqueId id, int rank);
/** As gyreCommInitRank with options (NULL: defaults). With blocking 0 answers in-progress at once;
 *  poll gyreCommGetAsyncError until it is success. */
GYRE_EXPORT gyreResult_t gyreCommInitRankConfig(gyreComm_t* comm, int size, gyreUniqueId id,
                                                int rank, gyreConfig_t* config);
/** As above with `id_count` ids: ranks are split in contiguous blocks, one root each; for large jobs.
 *  Needs: the same ids in the same order on all ranks. */
GYRE_EXPORT gyreResult_t gyreCommInitRankScalable(gyreComm_t* comm, int size, int rank,
                                                  int id_count, gyreUniqueId* ids,
                                                  gyreConfig_t* config);
/** Makes `count` ranks in this one process. `devices`: NULL or -1 entries mean host memory.
 *  Gives: comms[0..count). Fails: as gyreCommInitRank; no communicator is left then. */
GYRE_EXPORT gyreResult_t gyreCommInitAll(gyreComm_t* comms, int count, const int* devices);
/** Reads rank, size and meeting point from the launcher: GYRE_RANK/GYRE_SIZE/GYRE_ROOT, torchrun,
 *  Open MPI, MPICH/Hydra (PMI), Slurm; alone it makes one rank. Fails: invalid-usage names the
 *  variable that is missing or malformed. */
GYRE_EXPORT gyreResult_t gyreCommInitFromEnv(gyreComm_t* comm, gyreConfig_t* config);

#define GYRE_SPLIT_NOCOLOR (-1)
/** Collective over comm. Ranks of one color form a new communicator, ordered by (key, rank);
 *  GYRE_SPLIT_NOCOLOR gives NULL. The child does not need its parent afterwards. */
GYRE_EXPORT gyreResult_t gyreCommSplit(gyreComm_t comm, int color, int key, gyreComm_t* child,
                                       gyreConfig_t* config);
#define GYRE_SHRINK_DEFAULT 0
#define GYRE_SHRINK_ABORT 1
/** Collective over the survivors alone. Gives: a communicator without the `exclude_count` ranks in
 *  `exclude`; GYRE_SHRINK_ABORT first stops what is in flight (the excluded may be dead). */
GYRE_EXPORT gyreResult_t gyreCommShrink(gyreComm_t comm, int* exclude, int exclude_count,
                                        gyreComm_t* child, gyreConfig_t* config, int flags);
/** Waits until enqueued work is done; afterwards only destroy is allowed. */
GYRE_EXPORT gyreResult_t gyreCommFinalize(gyreComm_t comm);
/** Frees comm; never waits for dead peers. Peers' unfinished operations with this rank fail. */
GYRE_EXPORT gyreResult_t gyreCommDestroy(gyreComm_t comm);
/** Stops what is in flight on this rank, tells the peers, frees comm; returns within 2 s whatever
 *  they do. Threads: any thread, also while another is inside a call on comm. */
GYRE_EXPORT gyreResult_t gyreCommAbort(gyreComm_t comm);
/** Stops what is in flight and refuses new work; comm stays good for split, shrink and destroy.
 *  Needs: flags 0. Threads: any. */
GYRE_EXPORT gyreResult_t gyreCommRevoke(gyreComm_t comm, int flags);
/** Gives: the communicator's state: success, in-progress, or its first failure. Threads: any. */
GYRE_EXPORT gyreResult_t gyreCommGetAsyncError(gyreComm_t comm, gyreResult_t* state);
GYRE_EXPORT gyreResult_t gyreCommCount(gyreComm_t comm, int* count);    /**< Number of ranks. */
GYRE_EXPORT gyreResult_t gyreCommUserRank(gyreComm_t comm, int* rank);  /**< This rank. */
GYRE_EXPORT gyreResult_t gyreCommDevice(gyreComm_t comm, int* device);  /**< CUDA device, -1 host. */

/* ---- Collectives ------------------------------------------------------------------------------
 * Counts are elements. A count of 0 is a success that moves nothing (pointers may be NULL).
 * In place: all_reduce, reduce, broadcast send == recv; reduce_scatter recv == send + rank*count;
 * all_gather send == recv + rank*count; gather and scatter: the root's own block likewise. Any other
 * overlap of the buffers is undefined. Results are bit-identical on all ranks.
 * Fails: invalid-argument (nothing happened); invalid-usage when ranks' calls differ (both calls are
 * named); remote, timeout, system, aborted: the communicator is then good for abort, shrink, destroy.
 * Threads: one communicator from two threads is serialised; different communicators are free. */

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
GYRE_EXPORT gyreResult_t gyreReduce(const void* send, void* recv, size_t count,
                                    gyreDataType_t type, gyreRedOp_t op, int root, gyreComm_t comm,
                                    gyreStream_t stream);
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
GYRE_EXPORT gyreResult_t gyreGather(const void* send, void* recv, size_t count,
                                    gyreDataType_t type, int root, gyreComm_t comm,
                                    gyreStream_t stream);
/** recv on rank r = block r of root's send; `send` is read on root alone. */
GYRE_EXPORT gyreResult_t gyreScatter(const void* send, void* recv, size_t count,
                                     gyreDataType_t type, int root, gyreComm_t comm,
                                     gyreStream_t stream);

/** Rank r gives counts[r] elements, found at recv + offsets[r] on every rank afterwards.
 *  Needs: counts and offsets (in elements, size entries) alike on all ranks; read during the call. */
GYRE_EXPORT gyreResult_t gyreAllGatherV(const void* send, void* recv, const size_t* counts,
                                        const size_t* offsets, gyreDataType_t type,
                                        gyreComm_t comm, gyreStream_t stream);
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
GYRE_EXPORT gyreResult_t gyreRecv(void* recv, size_t count, gyreDataType_t type, int peer,
                                  gyreComm_t comm, gyreStream_t stream);

/** Makes `sum over ranks of scalar_of_rank * x`. Needs: *scalar is of `type`. Gives: a handle for
 *  that type on comm alone. Fails: invalid-argument. */
GYRE_EXPORT gyreResult_t gyreRedOpCreatePreMulSum(gyreRedOp_t* op, void* scalar,
                                                  gyreDataType_t type,
                                                  gyreScalarResidence_t residence, gyreComm_t comm);
/** Needs: a handle made on comm. May be called right after enqueue. */
GYRE_EXPORT gyreResult_t gyreRedOpDestroy(gyreRedOp_t op, gyreComm_t comm);

/* ---- Groups ----------------------------------------------------------------------------------- */

/** Until the matching gyreGroupEnd, calls of this thread are collected. Nestable. */
GYRE_EXPORT gyreResult_t gyreGroupStart(void);
/** Runs what was collected as one: in a group any order of sends and receives completes.
 *  Fails: the first failure of the group; argument errors have already been answered by the call. */
GYRE_EXPORT gyreResult_t gyreGroupEnd(void);
/** Ends the group without running it; info->estimatedTime is the cost model's answer. */
GYRE_EXPORT gyreResult_t gyreGroupSimulateEnd(gyreSimInfo_t* info);

/* ---- Memory ----------------------------------------------------------------------------------- */

/** Gives: zeroed memory that local peers can map, so that collectives on it copy less.
 *  Fails: system when the machine has none left. Threads: any. */
GYRE_EXPORT gyreResult_t gyreMemAlloc(void** pointer, size_t bytes);
/** Needs: a pointer of gyreMemAlloc, in no operation under way. NULL is allowed. */
GYRE_EXPORT gyreResult_t gyreMemFree(void* pointer);
/** Local call: tells comm that [buffer, buffer+bytes) will be used again and again. */
GYRE_EXPORT gyreResult_t gyreCommRegister(gyreComm_t comm, void* buffer, size_t bytes,
                                          void** handle);
GYRE_EXPORT gyreResult_t gyreCommDeregister(gyreComm_t comm, void* handle);
#define GYRE_WIN_DEFAULT 0
#define GYRE_WIN_COLL_SYMMETRIC 1
/** Collective form of gyreCommRegister. Gives: a window; Needs: the same flags on all ranks. */
GYRE_EXPORT gyreResult_t gyreCommWindowRegister(gyreComm_t comm, void* buffer, size_t bytes,
                                                gyreWindow_t* window, int flags);
GYRE_EXPORT gyreResult_t gyreCommWindowDeregister(gyreComm_t comm, gyreWindow_t window);

/* ---- Host streams ----------------------------------------------------------------------------- */

/** An in-order queue with a thread of its own: calls on it return at once and run one by one. */
GYRE_EXPORT gyreResult_t gyreHostStreamCreate(gyreStream_t* stream);
/** Waits for what is queued, then frees. */
GYRE_EXPORT gyreResult_t gyreHostStreamDestroy(gyreStream_t stream);
/** Waits until all that was queued is done. Fails: the first failure since the last call. */
GYRE_EXPORT gyreResult_t gyreHostStreamSynchronize(gyreStream_t stream);
/** Gives: success when idle, in-progress when not, or the first failure. */
GYRE_EXPORT gyreResult_t gyreHostStreamQuery(gyreStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* GYRE_GYRE_H_ */
