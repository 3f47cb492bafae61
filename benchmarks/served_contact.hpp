/// The contact service in a process of its own, as in a real run.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace heelstrike {

class ServedContact {
 public:
  /// Forks: first thing in a program, before threads exist and before anything of gRPC is called.
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
