#include "common/results/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/digest.hpp"
#include "common/files/file_digests.hpp"
#include "common/files/output_file.hpp"
#include "common/results/summary.hpp"
#include "common/text/storage_header.hpp"

namespace heelstrike {

namespace fs = std::filesystem;

namespace {

constexpr const char* incomplete_name = "INCOMPLETE";
constexpr const char* fields_folder = "fields/";
constexpr int position_format = 3;                 // of the .json that accompanies a checkpoint
constexpr std::size_t kept_checkpoints = 2;        // the last one and a spare in case of corruption
constexpr std::size_t max_log_line = 10'000;       // [bytes]
constexpr std::size_t reserved_for_reason = 4096;  // [bytes] one block, which every non-empty file occupies
constexpr const char* start_name = "start.json";   // the position before the first checkpoint

/// Files that a run or other commands write; those of an earlier run would be mistaken for those of this run.
constexpr const char* run_files[] = {"scenario.yaml",
                                     "timeseries.csv",
                                     "summary.json",
                                     "forces.sto",
                                     "ground_reactions.mot",
                                     "kinematics.sto",
                                     "activations.sto",
                                     "muscle_forces.sto",
                                     "coordinates.sto",
                                     "run.log",
                                     "fields.pvd",
                                     "report.html",
                                     "measured_reactions.mot",
                                     "plate_steps.csv",
                                     "external_loads.xml",
                                     "timing.json",
                                     "shapes.json",
                                     "contact_regions.csv",
                                     "plantar_regions.csv",
                                     "plantar_regions.sto",
                                     "plantar_summary.csv",
                                     "plantar_instants.pvd",
                                     incomplete_name};
/// The same in folders: all files with these extensions, each between blanks.
struct OwnFolder {
  const char* name;
  std::string_view extensions;
};
constexpr OwnFolder own_folders[] = {{"checkpoints", " .ckpt .json "},
                                     {"fields", " .vtu "},
                                     {"pictures", " .png .svg .pdf .gp .dat "},
                                     {"compare-grf", " .html .svg .csv "}};

[[noreturn]] void reject_folder(const fs::path& path, const std::string& found, const std::string& advice) {
  throw file_error(path.string(),
                   fmt::format("{}: expected a new run folder, found {}; {}", path.string(), found, advice));
}

/// Only files that a run writes: a mistyped folder name must not cost the user other files.
void remove_earlier_run(const fs::path& path, std::span<const std::string> tables) {
  std::vector<fs::path> earlier;
  for (const std::string& name : tables) earlier.push_back(path / name);
  for (const char* name : run_files) earlier.push_back(path / name);
  for (const OwnFolder& own : own_folders) {
    std::error_code none;
    for (fs::directory_iterator entry(path / own.name, none), end; !none && entry != end; entry.increment(none)) {
      const std::string extension = entry->path().extension().string();
      const bool is_own = own.extensions.find(" " + extension + " ") != std::string_view::npos;
      if (!extension.empty() && is_own) earlier.push_back(entry->path());
    }
  }
  for (const fs::path& file : earlier) {
    std::error_code error;
    fs::remove(file, error);
    if (error)
      reject_folder(path, fmt::format("that {} cannot be removed: {}", file.string(), error.message()),
                    "remove it by hand");
  }
  for (const fs::path& left : {path, path / "checkpoints", path / "fields"}) remove_temporary_files(left);
  for (const OwnFolder& own : own_folders) {
    std::error_code not_empty;  // other files remain
    fs::remove(path / own.name, not_empty);
  }
}

void make_folder(const fs::path& path, bool force) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) reject_folder(path, "a file of this name", "choose another name with --output");
    if (!force)
      reject_folder(path, "an existing one", "choose another name with --output, or overwrite it with --force");
    return;
  }
  fs::create_directories(path, error);
  if (error)
    reject_folder(path, "that it cannot be made: " + error.message(),
                  "choose a folder that you may write to with --output");
}

}  // namespace

/// A kernel lock, released at the end of the process in every case.
class RunFolder::Lock {
 public:
  explicit Lock(const fs::path& folder) : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    // On a file system without locks the run continues unlocked.
    if (descriptor_ >= 0 && !taken()) {
      ::close(descriptor_);
      throw file_error(
          folder.string(),
          fmt::format("{}: another run writes to it; wait for its end, or choose another name with --output",
                      folder.string()));
    }
  }
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  /// Tries to acquire the lock. A killed process holds its lock until the kernel has released its memory. A sweep that
  /// is restarted immediately finds its runs in this state and waits for their end.
  [[nodiscard]] bool taken() const {
    constexpr std::chrono::milliseconds timeout{1'000};
    constexpr std::chrono::milliseconds poll_interval{10};
    for (std::chrono::milliseconds waited{0};; waited += poll_interval) {
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
      if (waited >= timeout) return false;
      std::this_thread::sleep_for(poll_interval);
    }
  }

  int descriptor_;
};

RunFolder::RunFolder(fs::path path, std::string_view scenario_yaml, bool force, RunOrigin origin,
                     std::span<const std::string> tables)
    : path_(std::move(path)), origin_(std::move(origin)), scenario_digest_(sha256_hex(scenario_yaml)) {
  make_folder(path_, force);
  lock_ = std::make_shared<const Lock>(path_);
  remove_earlier_run(path_, tables);
  mark_incomplete("The run has not ended, or its client was killed.");
  add_file("scenario.yaml", scenario_yaml);
  log_ = std::make_unique<OutputFile>(path_ / "run.log");
  make_inner_folder("checkpoints");
  write_whole_file(path_ / "checkpoints" / start_name, position({}));
}

namespace {

[[noreturn]] void reject_resume(const fs::path& folder, const std::string& found, const std::string& advice) {
  throw file_error(folder.string(),
                   fmt::format("{}: expected a run to resume, found {}; {}", folder.string(), found, advice));
}

/// Checkpoints, newest first.
std::vector<fs::path> checkpoints_in(const fs::path& run) {
  std::vector<fs::path> checkpoints;
  std::error_code ignored;
  for (fs::directory_iterator entry(run / "checkpoints", ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == ".ckpt") checkpoints.push_back(entry->path());
  }
  // Names have leading zeros, but the largest numbers have more digits.
  std::ranges::sort(checkpoints, std::greater{},
                    [](const fs::path& file) { return std::pair(file.native().size(), file.native()); });
  return checkpoints;
}

/// Positions whose checkpoint was not written: the program was killed between the two files.
void remove_unfinished_checkpoints(const fs::path& run) {
  std::error_code ignored;
  std::vector<fs::path> unfinished;
  for (fs::directory_iterator entry(run / "checkpoints", ignored), end; entry != end; entry.increment(ignored)) {
    const fs::path file = entry->path();
    if (file.extension() != ".json" || file.filename() == start_name) continue;
    if (!fs::exists(fs::path(file).replace_extension(".ckpt"), ignored)) unfinished.push_back(file);
  }
  for (const fs::path& file : unfinished) fs::remove(file, ignored);
}

std::string name_of_step(std::int64_t step) {
  return fmt::format("step_{:08}", step);
}

void check_resumable(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    reject_resume(path, "no folder of this name", "name the folder of a run");
  }
  if (!fs::exists(path / "scenario.yaml", ignored)) {
    reject_resume(path, "no scenario.yaml in it", "name the folder of a run");
  }
}

}  // namespace

RunFolder RunFolder::resume(fs::path path) {
  check_resumable(path);
  RunFolder folder(std::move(path));
  folder.lock_ = std::make_shared<const Lock>(folder.path_);
  std::error_code ignored;
  if (!fs::exists(folder.path_ / incomplete_name, ignored)) {
    reject_resume(folder.path_, "one that is complete", "there is nothing to resume");
  }
  folder.scenario_digest_ = sha256_hex(read_whole_file(folder.path_ / "scenario.yaml"));
  for (const fs::path& left : {folder.path_, folder.path_ / "checkpoints", folder.path_ / "fields"}) {
    remove_temporary_files(left);
  }
  remove_unfinished_checkpoints(folder.path_);
  folder.digests_["scenario.yaml"] = folder.scenario_digest_;
  std::vector<fs::path> checkpoints = checkpoints_in(folder.path_);
  // The disk was full before the first checkpoint: the run restarts from the beginning.
  const fs::path start = folder.path_ / "checkpoints" / start_name;
  if (checkpoints.empty() && fs::exists(start, ignored)) checkpoints.push_back(start);
  const auto usable = std::ranges::find_if(checkpoints, [&](const fs::path& file) {
    const std::string reason = folder.restore(file);
    if (!reason.empty()) folder.notes_.push_back(fmt::format("{}: {}", file.filename().string(), reason));
    return reason.empty();
  });
  if (usable == checkpoints.end()) {
    reject_resume(folder.path_,
                  checkpoints.empty() ? "one without checkpoints"
                                      : fmt::format("no usable checkpoint ({})", fmt::join(folder.notes_, "; ")),
                  "run it again with --force");
  }
  folder.mark_incomplete("The run was resumed and has not ended, or its client was killed.");
  const fs::path log = folder.path_ / "run.log";
  const bool has_log = fs::exists(log, ignored);
  const std::uintmax_t log_size = has_log ? fs::file_size(log, ignored) : 0;
  if (ignored) reject_resume(folder.path_, "one whose run.log is no file", "remove it");
  folder.log_ = has_log ? std::make_unique<OutputFile>(log, log_size) : std::make_unique<OutputFile>(log);
  for (std::string& note : folder.notes_) {
    note += fmt::format("; resuming from {} before it", usable->filename().string());
    folder.add_log("warning", note);
  }
  const std::string from = *usable == start ? "the beginning" : usable->filename().string();
  folder.add_log("info", fmt::format("resumed from {}", from));
  return folder;
}

void RunFolder::roll_back(std::optional<std::int64_t> step) {
  table_.reset();
  columns_.clear();
  n_valid_.reset();
  series_.clear();
  field_index_.clear();
  n_indexed_ = 0;
  table_digest_ = {};
  std::erase_if(digests_, [](const auto& file) { return file.first.starts_with(fields_folder); });
  if (!step) return add_log("info", "resumed from the beginning");
  const fs::path file = (path_ / "checkpoints" / name_of_step(*step)) += ".ckpt";
  const std::string reason = fs::exists(file) ? restore(file) : "it does not exist";
  if (!reason.empty()) {
    throw file_error(path_.string(), fmt::format("{}: expected checkpoint {}, from which the run continues, found: {}; "
                                                 "earlier rows are in the folder in which it began",
                                                 path_.string(), file.filename().string(), reason));
  }
  add_log("info", fmt::format("resumed from {}", file.filename().string()));
}

std::string RunFolder::position(std::string_view checkpoint) const {
  nlohmann::ordered_json json{{"format", position_format},
                              {"scenario", origin_.scenario.string()},
                              {"scenario_sha256", scenario_digest_},
                              {"files_sha256", origin_.files},
                              {"checkpoint_sha256", checkpoint.empty() ? "" : sha256_hex(checkpoint)},
                              {"table_bytes", table_ ? table_->size() : 0},
                              {"table_sha256", table_digest_.hex()},
                              {"written_sha256", digests_},
                              {"field_index", field_index_},
                              {"n_indexed", n_indexed_},
                              {"series", nlohmann::ordered_json::array()}};
  for (const auto& [key, series] : series_) {
    json["series"].push_back({{"pair", key.first},
                              {"of_partner", key.second == FieldPart::partner},
                              {"stem", series.stem},
                              {"part", series.part},
                              {"n_files", series.n_files},
                              {"last_file", series.last_file}});
  }
  return json_with_digest(std::move(json));
}

/// Verifies the files written before the checkpoint and restores their digests.
void RunFolder::check_written(const FileDigests& files, std::uint64_t n_bytes, const std::string& table_digest) {
  const auto reject = [](const std::string& name) {
    throw file_error(
        "checkpoint",
        fmt::format("{} is not what the run has written: it was corrupted or changed by another program", name));
  };
  Sha256 table;
  if (n_bytes > 0) table = digest_of_file(path_ / "timeseries.csv", n_bytes);
  if (table.hex() != table_digest) reject((path_ / "timeseries.csv").string());
  FileDigests fields;
  for (const auto& [name, digest] : files) {
    if (!name.starts_with(fields_folder)) continue;  // all others are rewritten
    fields[name] = digest;
    if (!fs::exists(path_ / name))
      throw file_error("checkpoint", fmt::format("{} is missing", (path_ / name).string()));
    if (digest_of_file(path_ / name).hex() != digest) reject((path_ / name).string());
  }
  table_digest_ = std::move(table);
  std::erase_if(digests_, [](const auto& file) { return file.first.starts_with(fields_folder); });
  digests_.merge(fields);
}

void RunFolder::restore_position(const std::string& text, const std::string& checkpoint) {
  const auto reject = [](const std::string& reason) { throw file_error("checkpoint", reason); };
  const auto json = parse_with_digest(text);
  if (json.value("format", 1) < position_format) reject("it was written by another version of the program");
  if (check_digest(json) != DigestState::intact) reject("the .json that accompanies it is corrupted");
  if (json.at("format") != position_format) reject("it was written by another version of the program");
  const bool is_start = checkpoint.empty() && json.at("checkpoint_sha256").get<std::string>().empty();
  if (!is_start && json.at("checkpoint_sha256") != sha256_hex(checkpoint))
    reject("its checksum does not match: it is corrupted");
  if (json.at("scenario_sha256") != scenario_digest_) {
    throw input_error("scenario.yaml",
                      fmt::format("{0}/scenario.yaml: it has changed since the run began; run the new scenario by "
                                  "`heelstrike run {0}/scenario.yaml -o OTHER`, or undo the change to resume this run",
                                  path_.string()));
  }
  const auto n_bytes = json.at("table_bytes").get<std::uint64_t>();
  std::error_code error;
  if (const auto size = fs::file_size(path_ / "timeseries.csv", error); n_bytes > 0 && (error || size < n_bytes)) {
    reject(fmt::format("timeseries.csv ends before it, at {} of {} bytes: another program truncated it",
                       error ? 0 : size, n_bytes));
  }
  check_written(json.at("written_sha256").get<FileDigests>(), n_bytes, json.at("table_sha256").get<std::string>());
  origin_ = {.scenario = json.at("scenario").get<std::string>(),
             .files = json.at("files_sha256").get<std::map<std::string, std::string>>()};
  field_index_ = json.at("field_index").get<std::string>();
  n_indexed_ = json.at("n_indexed").get<std::size_t>();
  series_.clear();
  for (const auto& entry : json.at("series")) {
    const FieldPart part = entry.at("of_partner").get<bool>() ? FieldPart::partner : FieldPart::main;
    series_[{entry.at("pair").get<std::string>(), part}] = {.stem = entry.at("stem").get<std::string>(),
                                                            .part = entry.at("part").get<int>(),
                                                            .n_files = entry.at("n_files").get<int>(),
                                                            .last_file = entry.at("last_file").get<std::string>()};
  }
  n_valid_.reset();
  if (n_bytes > 0) n_valid_ = n_bytes;
}

std::string RunFolder::restore(const fs::path& checkpoint) {
  const fs::path beside = fs::path(checkpoint).replace_extension(".json");
  try {
    std::string bytes = beside == checkpoint ? "" : read_whole_file(checkpoint);
    restore_position(read_whole_file(beside), bytes);
    checkpoint_ = std::move(bytes);
    return {};
  } catch (const nlohmann::json::exception&) {
    return fmt::format("{}, which accompanies it, is incomplete or was written by another program", beside.string());
  } catch (const Error& error) {
    // An input error, not a defect of this checkpoint.
    if (error.code() == ErrorCode::invalid_input) throw;
    return error.what();
  }
}

void RunFolder::mark_incomplete(const std::string& reason) {
  write_whole_file(path_ / incomplete_name, reason + "\n");
}

void RunFolder::mark_abandoned(const std::string& reason) const noexcept {
  // Written in place: a full disk accepts no new file, but accepts text within the first block of this one.
  const int file = ::open((path_ / incomplete_name).c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const std::string_view text = std::string_view(reason).substr(0, reserved_for_reason - 1);
  const bool written = ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
                       ::pwrite(file, "\n", 1, static_cast<off_t>(text.size())) == 1;
  if (written) (void)!::ftruncate(file, static_cast<off_t>(text.size()) + 1);
  ::close(file);
}

void RunFolder::start_table(std::span<const Column> columns) {
  if (table_) throw Error(ErrorCode::internal, "the columns of the time series were set twice");
  columns_.assign(columns.begin(), columns.end());
  const fs::path file = path_ / "timeseries.csv";
  std::string header;
  for (const Column& column : columns_) header += (header.empty() ? "" : ",") + column.name;
  header += "\n";
  if (!n_valid_) {
    table_ = std::make_unique<OutputFile>(file);
    table_->write(header);
    table_digest_ = {};
    table_digest_.add(header);
    return;
  }
  table_ = std::make_unique<OutputFile>(file, *n_valid_);
  std::string found(header.size(), '\0');
  std::ifstream(file).read(found.data(), static_cast<std::streamsize>(found.size()));
  if (found != header) {
    throw file_error(file.string(), fmt::format("{}: expected the columns of this run, found others: it was written by "
                                                "another version of the program; run it again with --force",
                                                file.string()));
  }
}

void RunFolder::add_row(std::span<const double> values) {
  if (!table_ || values.size() != columns_.size()) {
    throw Error(ErrorCode::internal,
                fmt::format("expected a row of {} values after the columns, found {}", columns_.size(), values.size()));
  }
  row_.clear();
  for (const double value : values) {
    // An empty cell instead of NaN, e.g. for a centre of pressure without contact, because readers of numeric tables
    // may not accept NaN.
    if (!std::isnan(value)) fmt::format_to(std::back_inserter(row_), "{}", value);
    row_ += ',';
  }
  row_.back() = '\n';
  table_->write(row_);
  table_digest_.add(row_);
}

void RunFolder::add_log(std::string_view level, std::string_view text) {
  log_->write(fmt::format("{}: {}\n", one_line(level), one_line(text, max_log_line)));
}

void RunFolder::make_inner_folder(const char* name) const {
  std::error_code error;
  fs::create_directory(path_ / name, error);
  if (error)
    reject_folder(path_ / name, "that it cannot be made: " + error.message(),
                  "check the permissions of the run folder");
}

void RunFolder::add_file(const std::string& name, std::string_view bytes) {
  write_whole_file(path_ / name, bytes);
  digests_[name] = sha256_hex(bytes);
}

void RunFolder::add_checkpoint(std::int64_t step, std::string_view bytes) {
  make_inner_folder("checkpoints");
  const fs::path name = path_ / "checkpoints" / name_of_step(step);
  // Other files are synchronised first, so that an existing checkpoint is usable even after a loss of power.
  if (table_) table_->sync();
  write_whole_file(fs::path(name).concat(".json"), position(bytes));
  write_whole_file(fs::path(name).concat(".ckpt"), bytes);
  remove_old_checkpoints();
}

void RunFolder::remove_old_checkpoints() const {
  const std::vector<fs::path> checkpoints = checkpoints_in(path_);
  std::error_code ignored;  // a redundant file is harmless
  fs::remove(path_ / "checkpoints" / start_name, ignored);
  for (std::size_t i = kept_checkpoints; i < checkpoints.size(); ++i) {
    fs::remove(checkpoints[i], ignored);
    fs::remove(fs::path(checkpoints[i]).replace_extension(".json"), ignored);
  }
}

void RunFolder::add_fields(const FieldFrame& frame) {
  const bool partner = frame.part == FieldPart::partner;
  const auto [entry, is_new] = series_.try_emplace({frame.pair, frame.part});
  FieldSeries& series = entry->second;
  if (is_new) {
    series.part = static_cast<int>(series_.size()) - 1;
    series.stem = plain_name(fmt::format("{}_{}{}", frame.pair, frame.body, partner ? "_partner" : ""));
    for (const auto& [key, other] : series_) {
      if (&other != &series && other.stem == series.stem) series.stem += fmt::format("_{}", series.part);
    }
  }
  if (!frame.vtu.empty()) {
    make_inner_folder("fields");
    series.last_file = fmt::format("{}{}_{:05}.vtu", fields_folder, series.stem, series.n_files++);
    add_file(series.last_file, frame.vtu);
  }
  if (series.last_file.empty()) throw Error(ErrorCode::internal, "fields without bytes precede any with bytes");
  field_index_ += fmt::format("<DataSet timestep=\"{}\" part=\"{}\" name=\"{}\" file=\"{}\"/>\n", frame.time,
                              series.part, series.stem, series.last_file);
  // Often enough that a killed run leaves an index, but rarely enough to avoid quadratic cost in a long series.
  if (n_indexed_ % (1 + n_indexed_ / 100) == 0) write_field_index();
  ++n_indexed_;
}

void RunFolder::write_field_index() {
  add_file("fields.pvd",
           "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" "
           "byte_order=\"LittleEndian\">\n<Collection>\n" +
               field_index_ + "</Collection>\n</VTKFile>\n");
}

namespace {

struct NamedColumn {
  std::string name;
  std::size_t index = 0;  ///< into the columns of the time series
};

/// Quantities of elements that OpenSim's files contain under the bare names of the elements.
struct ElementStorage {
  const char* name;           ///< of the file, without extension
  std::string_view quantity;  ///< of the columns, ELEMENT.QUANTITY
  bool of_muscles = false;    ///< only of elements that have an activation
};
constexpr ElementStorage element_storages[] = {{.name = "activations", .quantity = ".activation", .of_muscles = true},
                                               {.name = "muscle_forces", .quantity = ".force", .of_muscles = true},
                                               {.name = "coordinates", .quantity = ".value"}};

/// "ball.vz_m_s" -> "ball.vz": storage files imply the units.
std::string label(const Column& column) {
  std::string suffix = "_" + column.unit;
  std::erase(suffix, ' ');
  std::erase(suffix, '^');
  std::ranges::replace(suffix, '/', '_');
  return column.name.ends_with(suffix) ? column.name.substr(0, column.name.size() - suffix.size()) : column.name;
}

std::vector<std::size_t> rows_of_distinct_times(const TimeSeries& series) {
  std::vector<std::size_t> rows;
  const std::size_t width = series.columns.size();
  for (std::size_t row = 0; row < series.rows(); ++row) {
    if (!rows.empty() && series.values[rows.back() * width] == series.values[row * width]) rows.pop_back();
    rows.push_back(row);
  }
  return rows;
}

std::vector<NamedColumn> columns_of(const ElementStorage& storage, std::span<const Column> columns) {
  std::vector<NamedColumn> selected;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    std::string element = label(columns[i]);
    if (!element.ends_with(storage.quantity)) continue;
    element.resize(element.size() - storage.quantity.size());
    if (storage.of_muscles && std::ranges::find(columns, element + ".activation", &Column::name) == columns.end()) {
      continue;
    }
    selected.push_back({.name = std::move(element), .index = i});
  }
  return selected;
}

std::string storage_text(const std::string& name, std::span<const NamedColumn> selected, const TimeSeries& series) {
  const auto rows = rows_of_distinct_times(series);
  std::string text = storage_header(name, rows.size(), selected.size() + 1);
  for (const NamedColumn& column : selected) text.append("\t").append(column.name);
  text += '\n';
  for (const std::size_t row : rows) {
    const double* values = &series.values[row * series.columns.size()];
    fmt::format_to(std::back_inserter(text), "{}", values[0]);
    for (const NamedColumn& column : selected) {
      fmt::format_to(std::back_inserter(text), "\t{}", values[column.index]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

void RunFolder::write_storages() {
  const fs::path table = path_ / "timeseries.csv";
  if (digest_of_file(table).hex() != table_digest_.hex()) {
    throw file_error(table.string(),
                     fmt::format("{}: expected the rows that this run has written, found others: the disk is damaged "
                                 "or another program has written to it; resume the run, or run it again",
                                 table.string()));
  }
  digests_["timeseries.csv"] = table_digest_.hex();
  const TimeSeries series = read_timeseries(path_);
  add_file("forces.sto", storage_text("forces", columns_, series, is_load));
  add_file("kinematics.sto", storage_text("kinematics", columns_, series, is_motion));
  for (const ElementStorage& storage : element_storages) {
    const std::vector<NamedColumn> columns = columns_of(storage, columns_);
    if (columns.empty()) continue;
    add_file(fmt::format("{}.sto", storage.name), storage_text(storage.name, columns, series));
  }
}

void RunFolder::finish(const RunSummary& summary) {
  if (table_) {
    table_->close();
    table_.reset();
    write_storages();
  }
  if (!field_index_.empty()) write_field_index();
  log_->close();
  log_.reset();
  write_whole_file(path_ / "timing.json", timing_json(summary));
  write_whole_file(path_ / "summary.json", summary_json(summary, digests_));
  if (summary.status == "completed") {
    if (!fs::remove(path_ / incomplete_name)) {
      throw file_error(
          path_.string(),
          fmt::format("{}: expected the file {} of this run, found none; no other program may write into a "
                      "run folder",
                      path_.string(), incomplete_name));
    }
    return;
  }
  const std::string why = summary.error ? summary.error->what() : "stopped on request";
  if (summary.status == "incomplete") return mark_incomplete(fmt::format("The run is incomplete: {}", why));
  const std::string verb = summary.status == "cancelled" ? "was cancelled" : summary.status;
  mark_incomplete(fmt::format("The run {} at t = {} s: {}", verb, summary.simulated_time, why));
}

RunFolderSink::RunFolderSink(RunFolder& folder, OnProgress on_progress, EncodeCheckpoint encode)
    : folder_(folder), on_progress_(std::move(on_progress)), encode_(std::move(encode)) {}

void RunFolderSink::on_schema(std::span<const Column> columns) {
  folder_.start_table(columns);
}
void RunFolderSink::on_row(std::span<const double> values) {
  folder_.add_row(values);
}
void RunFolderSink::on_progress(const Progress& progress) {
  if (on_progress_) on_progress_(progress);
}
void RunFolderSink::on_fields(const FieldFrame& frame) {
  folder_.add_fields(frame);
}
void RunFolderSink::on_log(std::string_view level, std::string_view text) {
  folder_.add_log(level, text);
}

void RunFolderSink::on_episode(const ContactEpisode& e) {
  folder_.add_log("info", fmt::format("{}: contact from {} s to {} s, peak force {} N", e.pair, e.onset,
                                      e.end ? fmt::format("{}", *e.end) : "the end", e.max_force));
}

void RunFolderSink::on_resumed(std::optional<std::int64_t> step) {
  folder_.roll_back(step);
}

void RunFolderSink::on_checkpoint(const Checkpoint& checkpoint) {
  if (!encode_) throw Error(ErrorCode::internal, "a checkpoint arrived, but no encoder was set");
  folder_.add_checkpoint(checkpoint.step, encode_(checkpoint));
}

bool is_load(const Column& column) {
  return column.unit == "N" || column.unit == "N m";
}

bool is_motion(const Column& column) {
  constexpr const char* units[] = {"-", "m", "m/s", "rad", "rad/s", "m/s^2", "rad/s^2"};
  return std::ranges::find(units, column.unit) != std::end(units);
}

std::string storage_text(const std::string& name, std::span<const Column> columns, const TimeSeries& series,
                         bool (*wanted)(const Column&)) {
  std::vector<NamedColumn> selected;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (wanted(columns[i])) selected.push_back({.name = label(columns[i]), .index = i});
  }
  return storage_text(name, selected, series);
}

}  // namespace heelstrike
