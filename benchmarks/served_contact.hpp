/// The contact service in a separate process, as in a real run.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace heelstrike {

class ServedContact {
 public:
  /// Forks: must be called before threads exist and before any gRPC call.
  /// @param cache  folder for preparations; empty = none
  explicit ServedContact(const std::string& cache = {});
  /// Ends the process.
  ~ServedContact();
  ServedContact(const ServedContact&) = delete;
  ServedContact& operator=(const ServedContact&) = delete;

  [[nodiscard]] const std::string& unix_address() const { return addresses_.at(0); }
  [[nodiscard]] const std::string& tcp_address() const { return addresses_.at(1); }

 private:
  pid_t pid_ = -1;
  int alive_ = -1;  ///< the process ends when this is closed
  std::vector<std::string> addresses_;
};

}  // namespace heelstrike
