/// A limit that a contact pair exceeds by its own need, on any server: the memory of the process, or a parameter of the
/// pair. Other limits are those of a server, which may accept the pair later, or be larger elsewhere.
#pragma once

#include <string>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike {

class PairLimit : public Error {
 public:
  PairLimit(std::string field, const std::string& message) : Error(ErrorCode::limit, message, std::move(field)) {}
};

}  // namespace heelstrike
