/// The processes (ranks) of a program that a launcher of MPI started together.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace heelstrike {

/// Membership of this process; its end is the end of the membership. Rank 0 leads and has to be destroyed on every
/// path.
class RankSession {
 public:
  RankSession() = default;
  RankSession(const RankSession&) = delete;
  RankSession& operator=(const RankSession&) = delete;
  virtual ~RankSession() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Rank 0: it computes as a single process does, and the others help.
  [[nodiscard]] virtual bool leads() const = 0;
  /// Reads the input on every rank and compares it, because other input on one rank would make all of them wait.
  /// @param read  @return digest of all that was read
  /// @throws on every rank: its own error, else that of the first rank that has one; Error{invalid_input} when digests
  ///         differ
  virtual void agree_on(const std::function<std::string()>& read) = 0;
  /// Ranks that do not lead: works for rank 0 until its session ends.
  virtual void follow() = 0;
};

}  // namespace heelstrike
