/// Engines that start the workers of a sweep: processes of this machine, Slurm, any command, Kubernetes. The queue is
/// the folder; an engine only starts and stops processes.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heelstrike::client {

struct EngineOptions {
  std::filesystem::path folder;         ///< of the sweep, absolute
  std::string name;                     ///< of the sweep, for job names
  std::filesystem::path scenario = {};  ///< absolute
  double lease = 0.0;                   ///< [s] of the workers
  std::string command = {};             ///< of the engine `command`: {} is the command of a worker, {n} its number
  std::string slurm = {};               ///< further options of sbatch, as in a shell
  unsigned n_workers = 1;
};

/// Child processes are stopped in the destructor; a job of Slurm continues, and the same command joins it. Used from
/// one thread.
class SweepEngine {
 public:
  virtual ~SweepEngine() = default;
  /// Starts n further workers. @throws Error when they cannot be started
  virtual void start(unsigned n) = 0;
  /// Workers that have been started and have not ended. @throws Error
  [[nodiscard]] virtual unsigned n_active() = 0;
  /// Asks the workers to stop with checkpoints, and waits.
  virtual void stop(std::chrono::milliseconds grace) = 0;
  /// A single worker that ended is replaced while others are active; else all are submitted again together.
  [[nodiscard]] virtual bool replaces_single_workers() const { return false; }
  /// Why no worker may be started again: they were cancelled by another user. Empty = they may.
  [[nodiscard]] virtual std::string refusal() { return {}; }
  /// The last message of a worker that failed; empty = none is known.
  [[nodiscard]] virtual std::string last_message() const { return {}; }
};

struct EngineEntry {
  const char* name;
  const char* summary;
  /// @throws Error{invalid_input} for missing programs or options
  std::unique_ptr<SweepEngine> (*make)(const EngineOptions& options);
  /// For engines whose workers the user starts: what to do next; such an engine is not made.
  std::string (*instructions)(const EngineOptions& options) = nullptr;
};
[[nodiscard]] std::span<const EngineEntry> sweep_engines();
/// @throws Error{invalid_input} for an unknown name
[[nodiscard]] const EngineEntry& find_engine(const std::string& name);

}  // namespace heelstrike::client
