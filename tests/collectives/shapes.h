// Shapes that the tests of plans walk through: which collectives have roots, hosts of uneven sizes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/catalog.h"

namespace gyre {

inline bool has_root(Collective c) {
  return c == Collective::broadcast || c == Collective::reduce || c == Collective::gather ||
         c == Collective::scatter;
}

inline bool is_point_to_point(Collective c) {
  return c == Collective::send || c == Collective::recv;
}

inline std::string name_of(const Entry& entry) {
  return std::string(to_text(entry.collective)) + "_" + to_text(entry.algorithm);
}

// Hosts dealt so that sizes differ and ranks of a host are not neighbours.
inline Layout uneven_hosts(int size, int hosts) {
  Layout layout{.size = size,
                .hosts = std::vector<std::vector<int>>(static_cast<std::size_t>(hosts))};
  for (int rank = 0; rank < size; ++rank) {
    const int h = rank < hosts ? rank : (rank * rank) % hosts;
    layout.hosts[static_cast<std::size_t>(h)].push_back(rank);
  }
  return layout;
}

// One host, or several where the algorithm is about hosts.
inline Layout layout_for(const Entry& entry, int size, int hosts = 3) {
  if (entry.algorithm != Algorithm::hierarchical || size < 2) return single_host_layout(size);
  return uneven_hosts(size, std::min(size, hosts));
}

}  // namespace gyre
