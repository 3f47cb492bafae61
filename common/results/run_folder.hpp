/// The output folder of a run:
///
///     scenario.yaml      as run, overrides applied
///     timeseries.csv     one row per output time; units in the column names
///     summary.json       outcome; the same bytes for every complete run of a scenario
///     timing.json        wall times
///     forces.sto         OpenSim storages of the same rows
///     kinematics.sto
///     shapes.json        triangles of bodies that have a mesh (report)
///     report.html        page of the files above (report)
///     run.log
///     fields.pvd         series for ParaView, if the scenario requests fields
///     fields/PAIR_BODY_00042.vtu
///     checkpoints/step_00000042.ckpt, and .json beside it: sizes of the other files at its time, with digests;
///                        the last two, or start.json before the first
///     INCOMPLETE         during a run and after an incomplete one; contains the reason
///
/// Rows are passed to the operating system one by one, so that all of them survive a crash of the process. Everything
/// else is written under a temporary name and renamed. `INCOMPLETE` is removed last.
///
/// Files are verified when they are read again: every file but the log and INCOMPLETE has a digest of the written
/// bytes, in the checkpoints during the run, and in summary.json and timing.json after its end (check_run_folder).
///
/// OpenSim storage files (.sto) from a time series.
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

/// Origin of a run, needed to resume it.
struct RunOrigin {
  std::filesystem::path scenario = {};            ///< its file; paths in it are relative to its folder
  std::map<std::string, std::string> files = {};  ///< sha256 by the name in the scenario
};

class RunFolder {
 public:
  /// Creates the folder with its parents and writes scenario.yaml, run.log and INCOMPLETE.
  /// @param force  removes the files of an earlier run, and those derived from them, from an existing folder; other
  /// files remain
  /// @param tables  files of further table formats, removed in the same way
  /// The folder is locked during the lifetime of this object.
  /// @throws Error{file} if it exists and `force` is false, if another run writes to it, or if it cannot be written
  RunFolder(std::filesystem::path path, std::string_view scenario_yaml, bool force, RunOrigin origin = {},
            std::span<const std::string> tables = {});
  /// An incomplete run, truncated to its last intact checkpoint with intact files, or to its beginning without
  /// checkpoint. Table and fields continue from there; the log keeps everything.
  /// @throws Error{file} if there is no such folder, if its run is complete, still active or has another scenario than
  /// at its start, or if no checkpoint is usable; the message lists each with the file that changed
  [[nodiscard]] static RunFolder resume(std::filesystem::path path);
  /// Bytes to resume from; empty unless created by resume(), and if the run restarts from the beginning.
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }
  /// Checkpoints that resume() skipped, with reasons.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const RunOrigin& origin() const { return origin_; }
  /// Rolls an active run back to the checkpoint of this step, or to the beginning. start_table() is called again.
  /// @throws Error{file} if there is no such checkpoint
  void roll_back(std::optional<std::int64_t> step);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Called once, before the first row. The first column is time [s].
  void start_table(std::span<const Column> columns);
  /// @param values  one per column
  void add_row(std::span<const double> values);
  void add_log(std::string_view level, std::string_view text);
  /// @param bytes  state from which the run is resumed
  void add_checkpoint(std::int64_t step, std::string_view bytes);
  /// A frame without bytes refers to the file of the previous frame of this part.
  void add_fields(const FieldFrame& frame);
  /// Writes a whole file that depends on the scenario alone.
  void add_file(const std::string& name, std::string_view bytes);

  /// Ends the run: closes the table, writes the storages and the summary. A run with another status than "completed"
  /// remains marked INCOMPLETE with its error as the reason.
  void finish(const RunSummary& summary);
  /// Writes the reason into INCOMPLETE, even on a full disk, because its space was reserved at the start.
  void mark_abandoned(const std::string& reason) const noexcept;

 private:
  class Lock;
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] std::string position(std::string_view checkpoint) const;
  void check_written(const FileDigests& files, std::uint64_t n_bytes, const std::string& table_digest);
  /// Restores a checkpoint. @returns the reason of failure; empty = success
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
  std::optional<std::uint64_t> n_valid_;  ///< valid bytes of the table, until its columns are known
  std::shared_ptr<const Lock> lock_;
  std::vector<Column> columns_;
  std::unique_ptr<OutputFile> table_;
  Sha256 table_digest_;  ///< of the written part of the table
  FileDigests digests_;  ///< of all other files
  std::unique_ptr<OutputFile> log_;
  std::string row_;  ///< text of the current row, reused

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

/// Writes the output of a run into its folder, for runs in this process and for the client that replays events from the
/// wire.
class RunFolderSink final : public RunSink {
 public:
  using OnProgress = std::function<void(const Progress&)>;
  using EncodeCheckpoint = std::function<std::string(const Checkpoint&)>;

  /// @param folder       outlives the sink
  /// @param on_progress  may be empty
  /// @param encode      bytes of a checkpoint; empty = checkpoints raise Error{internal}
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

/// Content of timeseries.csv.
struct TimeSeries {
  std::vector<std::string> columns;
  std::vector<double> values;  ///< row-major, rows() x columns

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : values.size() / columns.size(); }
  /// All values of one column. @throws Error{invalid_input} naming the nearest column
  [[nodiscard]] std::vector<double> column(const std::string& name) const;
};

/// @throws Error{file} for a folder without a readable file of that kind
[[nodiscard]] RunSummary read_summary(const std::filesystem::path& folder);
/// An incomplete last row, left by a killed writer, is ignored.
[[nodiscard]] TimeSeries read_timeseries(const std::filesystem::path& folder);
/// Reason why the run in `folder` is incomplete; empty if it is complete.
[[nodiscard]] std::string incomplete_reason(const std::filesystem::path& folder);

/// True for forces and torques: unit N or N m.
[[nodiscard]] bool is_load(const Column& column);
/// True for positions, rotations (quaternions have no unit) and their rates.
[[nodiscard]] bool is_motion(const Column& column);

/// Text of a storage with the time and the columns for which `wanted` is true; SI units, angles in radians
/// (inDegrees=no). Of several rows at one time (an event) only the last is kept, because OpenSim requires increasing
/// times.
/// @param columns  of `series`, in its order; the first is time
[[nodiscard]] std::string storage_text(const std::string& name, std::span<const Column> columns,
                                       const TimeSeries& series, bool (*wanted)(const Column&));

}  // namespace heelstrike
