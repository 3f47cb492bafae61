/// The folder a run leaves behind:
///
///     scenario.yaml      as run, overrides applied
///     timeseries.csv     one row per output time; units in the column names
///     summary.json       outcome; the same bytes whenever the same scenario runs to its end
///     timing.json        wall times
///     forces.sto         OpenSim storages made from the same rows
///     kinematics.sto
///     shapes.json        triangles of bodies that have a mesh (report)
///     report.html        page made of the files above (report)
///     run.log
///     fields.pvd         series for ParaView, when the scenario asks for fields
///     fields/PAIR_BODY_00042.vtu
///     checkpoints/step_00000042.ckpt, and .json beside it: how much of the other files belongs to it, with digests;
///                        the last two, or start.json as long as there is none
///     INCOMPLETE         only while the run goes on, and after one that did not complete; says why
///
/// Rows are handed to the operating system one by one, so that all of them survive the death of the process. Everything
/// else is written under a temporary name and renamed. `INCOMPLETE` is removed as the last act.
///
/// What has been written is not believed when it is found again: every file but the log and INCOMPLETE has a digest,
/// made from what was handed to the operating system, in the checkpoints while the run goes on, and in summary.json and
/// timing.json when it has ended (check_run_folder).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/files/file_digests.hpp"
#include "common/files/output_file.hpp"
#include "common/results/run_records.hpp"

namespace heelstrike {

/// Where a run comes from: for whoever resumes it.
struct RunOrigin {
  std::filesystem::path scenario = {};            ///< its file; what the files in it are relative to
  std::map<std::string, std::string> files = {};  ///< sha256 by the name that the scenario uses
};

class RunFolder {
 public:
  /// Creates the folder, its parents too, and writes scenario.yaml, run.log and INCOMPLETE.
  /// @param force  empties an existing folder of the files of an earlier run and of what was made from them; other
  /// files in it stay
  /// The folder is locked while this object lives.
  /// @throws Error{file} when it exists and `force` is false, when another run is writing it, or when it cannot be
  ///         written
  RunFolder(std::filesystem::path path, std::string_view scenario_yaml, bool force, RunOrigin origin = {});
  /// A run that has not ended, cut back to its last checkpoint that is whole and whose files are what they were, from
  /// which it goes on; to its beginning when it has no checkpoint yet. Its table and its fields continue where they
  /// were then; its log keeps everything.
  /// @throws Error{file} when there is no such folder, when its run is complete, goes on, has another scenario than it
  /// began with, or none of its checkpoints can be used: each is told, with the file that is not what it was
  [[nodiscard]] static RunFolder resume(std::filesystem::path path);
  /// What to resume from; empty unless resume() made this, and when the run begins anew.
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }
  /// What resume() passed over and why.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const RunOrigin& origin() const { return origin_; }
  /// While the run goes on: back to the checkpoint of this step, without one to the beginning. The columns come again.
  /// @throws Error{file} when there is no such checkpoint
  void roll_back(std::optional<std::int64_t> step);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Once, before the first row. The first column is time [s].
  void start_table(std::span<const Column> columns);
  /// @param values  one per column
  void add_row(std::span<const double> values);
  void add_log(std::string_view level, std::string_view text);
  /// @param bytes  what the run is resumed from
  void add_checkpoint(std::int64_t step, std::string_view bytes);
  /// A frame without bytes refers to the file of the frame of this part before.
  void add_fields(const FieldFrame& frame);
  /// A whole file that depends on the scenario alone.
  void add_file(const std::string& name, std::string_view bytes);

  /// Ends the run: closes the table, writes the storages and the summary. A run with another status than "completed"
  /// stays marked INCOMPLETE with its error as the reason.
  void finish(const RunSummary& summary);
  /// Says in INCOMPLETE why nothing more will come, also on a disk that is full: the place was taken at the start.
  void mark_abandoned(const std::string& reason) const noexcept;

 private:
  class Lock;
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] std::string position(std::string_view checkpoint) const;
  void check_written(const FileDigests& files, std::uint64_t n_bytes, const std::string& table_digest);
  /// Back to a checkpoint. @returns why not; empty = done
  [[nodiscard]] std::string restore(const std::filesystem::path& checkpoint);
  void restore_position(const std::string& json, const std::string& checkpoint);
  void make_inner_folder(const char* name) const;
  void remove_old_checkpoints() const;
  void mark_incomplete(const std::string& reason);
  void write_storages();
  void write_field_index();

  std::filesystem::path path_;
  RunOrigin origin_;
  std::string scenario_digest_;  ///< sha256 of scenario.yaml
  std::string checkpoint_;       ///< bytes
  std::vector<std::string> notes_;
  std::optional<std::uint64_t> n_valid_;  ///< bytes of the table that are kept, until its columns are known
  std::shared_ptr<const Lock> lock_;
  std::vector<Column> columns_;
  std::unique_ptr<OutputFile> table_;
  Sha256 table_digest_;  ///< of what has been written of the table
  FileDigests digests_;  ///< of all other files
  std::unique_ptr<OutputFile> log_;
  std::string row_;  ///< reused text of the current row

  struct FieldSeries {
    std::string stem;  ///< of the file names
    int part = 0;
    int n_files = 0;
    std::string last_file;
  };
  std::map<std::pair<std::string, FieldPart>, FieldSeries> series_;
  std::string field_index_;  ///< lines of fields.pvd
  std::size_t n_indexed_ = 0;
};

/// Writes what a run tells into its folder; used by runs in this process and by the client that replays events from the
/// wire.
class RunFolderSink final : public RunSink {
 public:
  using OnProgress = std::function<void(const Progress&)>;
  using EncodeCheckpoint = std::function<std::string(const Checkpoint&)>;

  /// @param folder       outlives the sink
  /// @param on_progress  may be empty
  /// @param encode       bytes of a checkpoint; empty = checkpoints are refused with Error{internal}
  RunFolderSink(RunFolder& folder, OnProgress on_progress, EncodeCheckpoint encode);

  void on_schema(std::span<const Column> columns) override;
  void on_row(std::span<const double> values) override;
  void on_progress(const Progress& progress) override;
  void on_log(std::string_view level, std::string_view text) override;
  void on_episode(const ContactEpisode& episode) override;
  void on_checkpoint(const Checkpoint& checkpoint) override;
  void on_resumed(std::optional<std::int64_t> step) override;
  void on_fields(const FieldFrame& frame) override;

 private:
  RunFolder& folder_;
  OnProgress on_progress_;
  EncodeCheckpoint encode_;
};

/// timeseries.csv as read back.
struct TimeSeries {
  std::vector<std::string> columns;
  std::vector<double> values;  ///< row-major, rows() x columns

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : values.size() / columns.size(); }
  /// All values of one column. @throws Error{invalid_input} naming the nearest column
  [[nodiscard]] std::vector<double> column(const std::string& name) const;
};

/// @throws Error{file} for a folder without a readable file of that kind
[[nodiscard]] RunSummary read_summary(const std::filesystem::path& folder);
/// A last row that was cut off by the death of the writer is left out.
[[nodiscard]] TimeSeries read_timeseries(const std::filesystem::path& folder);
/// Why the run in `folder` is not complete; empty when it is.
[[nodiscard]] std::string incomplete_reason(const std::filesystem::path& folder);

}  // namespace heelstrike
