/// Notices the end of ranks: MPI itself would wait for them.
///
/// Every rank keeps a connection to rank 0 open, which the operating system closes when its process ends, however it
/// ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/process/process.hpp"
#include "fem_server/fem/rank_group.hpp"

namespace heelstrike::fem {

class RankWatch {
 public:
  /// Collective. Without a connection (firewall, unknown host name) a rank is not watched.
  /// @param on_loss  called once, on another thread, with a rank and its host and process: on rank 0 for any other
  /// rank,
  ///                 on those for rank 0
  RankWatch(RankGroup& group, std::function<void(std::size_t rank, const std::string& process)> on_loss);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  [[nodiscard]] bool watches_all() const { return watches_all_; }
  /// From now on connections may close.
  void expect_end() { ending_ = true; }

 private:
  void accept_ranks(std::uint64_t token, std::size_t n_expected, const std::vector<std::string>& processes);
  void watch();

  struct Peer {
    std::size_t rank = 0;
    std::string process;  ///< "process 17 on host a"
    Descriptor connection;
  };
  std::function<void(std::size_t, const std::string&)> on_loss_;
  std::vector<Peer> peers_;
  Descriptor listener_;
  Descriptor end_;  ///< readable when the thread has to end
  std::atomic<bool> ending_ = false;
  bool watches_all_ = true;
  std::thread thread_;
};

}  // namespace heelstrike::fem
