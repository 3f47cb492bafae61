#include "common/text/storage_header.hpp"

#include <fmt/format.h>

namespace heelstrike {

std::string storage_header(const std::string& name, std::size_t rows, std::size_t columns, bool in_degrees) {
  return fmt::format("{}\nversion=1\nnRows={}\nnColumns={}\ninDegrees={}\nendheader\ntime", name, rows, columns,
                     in_degrees ? "yes" : "no");
}

}  // namespace heelstrike
