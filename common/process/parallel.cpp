#include "common/process/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace heelstrike {

void for_each_in_parallel(std::size_t n, std::size_t n_threads, const std::function<void(std::size_t)>& work) {
  if (std::min(n, n_threads) < 2) {
    for (std::size_t i = 0; i < n; ++i) work(i);
    return;
  }
  std::vector<std::exception_ptr> errors(n);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto share = [&] {
    for (std::size_t i = next++; i < n && !failed; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
        failed = true;
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t thread = 1; thread < std::min(n, n_threads); ++thread) helpers.emplace_back(share);
    } catch (const std::system_error&) {
      // The process may have no further thread: those that exist do all the work.
    }
    share();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace heelstrike
