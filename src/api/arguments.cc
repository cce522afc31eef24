#include "api/arguments.h"

#include <algorithm>
#include <limits>

namespace gyre {

static_assert(static_cast<int>(Type::boolean) == gyreBool && kTypeCount == gyreNumTypes);
static_assert(static_cast<int>(Type::bf16) == gyreBfloat16);
static_assert(static_cast<int>(Type::f8e5m2) == gyreFloat8e5m2);
static_assert(static_cast<int>(Code::aborted) == gyreAborted);
static_assert(static_cast<int>(Code::remote) == gyreRemoteError);

Result<Type> to_type(gyreDataType_t type) {
  if (static_cast<int>(type) < 0 || static_cast<int>(type) >= kTypeCount)
    return error(Code::invalid_argument, "data type {} does not exist", static_cast<int>(type));
  return static_cast<Type>(type);
}

int premul_handle(int serial, int index) {
  return kFirstPremul + (serial << 20 | (index & 0xfffff));
}

Result<ResolvedOp> to_op(gyreRedOp_t op, Type type, gyreComm* handle) {
  const int number = static_cast<int>(op);
  ResolvedOp out;
  if (number >= kFirstPremul) {
    std::lock_guard lock(handle->mutex);
    const auto found = handle->operators.find(number);
    if (found == handle->operators.end())
      return error(Code::invalid_argument,
                   "reduction handle {} was not made on this communicator, or was destroyed",
                   number);
    if (found->second.type != type)
      return error(Code::invalid_argument, "reduction handle {} is for {}, not {}", number,
                   to_text(found->second.type), to_text(type));
    out.op = Op::premul_sum;
    out.scalar = found->second;
    return out;
  }
  static constexpr Op kOps[] = {Op::sum, Op::prod, Op::max, Op::min,
                                Op::avg, Op::band, Op::bor, Op::bxor};
  if (number < 0 || number >= gyreNumOps)
    return error(Code::invalid_argument, "reduction {} does not exist", number);
  out.op = kOps[number];
  if (!is_defined(out.op, type))
    return error(Code::invalid_argument, "{} is not defined for {}", to_text(out.op),
                 to_text(type));
  return out;
}

namespace {

// Whether this rank reads `send` and writes `recv`.
bool reads(const Request& r, int rank) {
  const bool from_root = r.what == Collective::broadcast || r.what == Collective::scatter;
  return r.what != Collective::recv && (!from_root || rank == r.root);
}
bool writes(const Request& r, int rank) {
  const bool to_root = r.what == Collective::reduce || r.what == Collective::gather;
  return r.what != Collective::send && (!to_root || rank == r.root);
}

bool any(const std::vector<std::size_t>& counts) {
  return std::any_of(counts.begin(), counts.end(), [](std::size_t count) { return count != 0; });
}

Status check_uneven(const Request& r, int rank, int size) {
  const auto n = static_cast<std::size_t>(size);
  const auto me = static_cast<std::size_t>(rank);
  const Uneven& u = *r.uneven;
  const std::size_t limit = std::numeric_limits<std::size_t>::max() / 2 / size_of(r.type) / n;
  for (const auto* table : {&u.send_counts, &u.send_offsets, &u.recv_counts, &u.recv_offsets})
    for (std::size_t i = 0; i < table->size(); ++i)
      if ((*table)[i] > limit)
        return error(Code::invalid_argument, "{}: count or offset {} of rank {} is too large",
                     to_text(r.what), (*table)[i], i);
  const bool gathers = r.what == Collective::all_gather_v, sends_all = any(u.send_counts);
  if (!r.send && (gathers ? u.send_counts[me] != 0 : sends_all))
    return error(Code::invalid_argument, "{} with a NULL send buffer", to_text(r.what));
  const bool scatters = r.what == Collective::reduce_scatter_v;
  const bool receives = gathers    ? sends_all
                        : scatters ? u.send_counts[me] != 0
                                   : any(u.recv_counts);
  if (!r.recv && receives)
    return error(Code::invalid_argument, "{} with a NULL receive buffer", to_text(r.what));
  return {};
}

}  // namespace

Status check_request(const Request& r, int rank, int size) {
  if (r.root < 0 || r.root >= size)
    return error(Code::invalid_argument, "{} {} is not below the number of ranks, {}",
                 is_point_to_point(r.what) ? "peer" : "root", r.root, size);
  if (r.what == Collective::barrier) return {};
  if (is_uneven(r.what)) return check_uneven(r, rank, size);
  if (r.count == 0) return {};
  const std::size_t blocks = static_cast<std::size_t>(size);
  if (r.count > std::numeric_limits<std::size_t>::max() / 2 / size_of(r.type) / blocks)
    return error(Code::invalid_argument, "{} of {} {} on {} ranks overflows", to_text(r.what),
                 r.count, to_text(r.type), size);
  if (reads(r, rank) && !r.send)
    return error(Code::invalid_argument, "{} of {} elements with a NULL send buffer",
                 to_text(r.what), r.count);
  if (writes(r, rank) && !r.recv)
    return error(Code::invalid_argument, "{} of {} elements with a NULL receive buffer",
                 to_text(r.what), r.count);
  if (r.what == Collective::all_to_all && r.send == r.recv)
    return error(Code::invalid_argument, "all_to_all cannot be in place");
  return {};
}

}  // namespace gyre
