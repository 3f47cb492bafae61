/// Independent tasks on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace heelstrike {

/// Calls work(i) for each i from 0 to n - 1, in ascending order of their start, on up to `n_threads` threads of which
/// the calling one is the first; returns when all have ended. After an exception no further task starts.
/// @param work  called concurrently
/// @throws the exception of the task with the lowest index that threw
void for_each_in_parallel(std::size_t n, std::size_t n_threads, const std::function<void(std::size_t)>& work);

}  // namespace heelstrike
