#include "client/sweeps/sweep_queue.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"
#include "common/process/process.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* log_extension = ".jsonl";
constexpr const char* end_extension = ".ended";
constexpr std::string_view check_name = ",\"check\":\"";
constexpr std::size_t check_digits = 8;

fs::path worker_file(const fs::path& folder, const std::string& id) {
  return folder / "workers" / id;
}
fs::path claim_file(const fs::path& folder, std::size_t run) {
  return folder / "claims" / std::to_string(run);
}

[[noreturn]] void fail(const fs::path& path, const char* action, int code) {
  throw file_error(
      path.string(),
      fmt::format("{}: expected to {}, found: {}; the folder of a sweep needs a file system with hard links "
                  "and free space",
                  path.string(), action, std::generic_category().message(code)));
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// [clock ticks] of a process since boot; 0 = there is no such process.
std::uint64_t start_of(std::int64_t pid) {
  const std::string line = first_line("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z") return 0;  // ended, and not yet waited for
  for (int i = 0; i < 18; ++i) fields >> skipped;
  std::uint64_t start = 0;
  fields >> start;  // field 22 of proc(5)
  return start;
}

std::string link_target(const char* path) {
  std::error_code ignored;
  return fs::read_symlink(path, ignored).string();
}

WorkerRecord record_of(std::int64_t pid, double lease) {
  char host[256] = {};
  (void)::gethostname(host, sizeof(host) - 1);
  WorkerRecord record{.id = {},
                      .host = host,
                      .boot = first_line("/proc/sys/kernel/random/boot_id"),
                      .pid_namespace = link_target("/proc/self/ns/pid"),
                      .pid = pid,
                      .start = start_of(pid),
                      .lease = lease};
  record.id = plain_name(fmt::format("{}-{}-{}", record.host, record.pid, record.start));
  return record;
}

Json to_json(const WorkerRecord& r) {
  return {{"id", r.id},
          {"host", r.host},
          {"boot", r.boot},
          {"pid_namespace", r.pid_namespace},
          {"pid", r.pid},
          {"start", r.start},
          {"lease_s", r.lease},
          {"starter", r.starter},
          {"starter_start", r.starter_start}};
}

WorkerRecord record_from(const std::string& text) {
  const Json json = Json::parse(text);
  return {.id = json.at("id"),
          .host = json.at("host"),
          .boot = json.at("boot"),
          .pid_namespace = json.at("pid_namespace"),
          .pid = json.at("pid"),
          .start = json.at("start"),
          .lease = json.at("lease_s"),
          .starter = json.at("starter"),
          .starter_start = json.at("starter_start")};
}

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Content and status of a file that is opened, which makes NFS query its server.
struct FileState {
  std::string text;
  struct stat status {};
};
std::optional<FileState> read_file_state(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  FileState state;
  if (file.get() < 0 || ::fstat(file.get(), &state.status) != 0) return std::nullopt;
  state.text.resize(static_cast<std::size_t>(state.status.st_size));
  const ssize_t n = ::read(file.get(), state.text.data(), state.text.size());
  state.text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return state;
}

/// A process of this host, in the numbering of this process, that has ended.
bool is_gone_from_host(const WorkerRecord& record) {
  static const WorkerRecord here = this_worker(0.0);
  return record.boot == here.boot && record.pid_namespace == here.pid_namespace && start_of(record.pid) != record.start;
}

/// How the starter of a worker saw it end.
std::optional<Json> recorded_end(const fs::path& folder, const std::string& id) {
  const auto state = read_file_state(worker_file(folder, id + end_extension));
  if (!state) return std::nullopt;
  Json json = Json::parse(state->text, nullptr, false);
  return json.is_object() && json.contains("how") ? std::optional(std::move(json)) : std::nullopt;
}

std::optional<LostClaim> loss_of(const fs::path& folder, const FileState& claim) {
  WorkerRecord owner;
  try {
    owner = record_from(claim.text);
  } catch (const Json::exception&) {
    return LostClaim{.worker = "unknown", .reason = "its claim is damaged"};
  }
  if (const auto end = recorded_end(folder, owner.id)) {
    return LostClaim{.worker = owner.id,
                     .reason = "ended with " + end->value("how", ""),
                     .is_gone = true,
                     .is_crash = end->value("crash", false)};
  }
  // The record of its starter, which states whether the run ended the worker, comes a moment after the end.
  const bool is_record_due = owner.starter != 0 && start_of(owner.starter) == owner.starter_start;
  if (is_gone_from_host(owner) && !is_record_due)
    return LostClaim{.worker = owner.id, .reason = "its process has ended", .is_gone = true};
  const double age = server_time(folder) - seconds_of(claim.status.st_mtim);
  if (std::abs(age) <= owner.lease) return std::nullopt;  // a time in the future is not that of a renewal
  return LostClaim{.worker = owner.id,
                   .reason = fmt::format("not renewed for {:.0f} s (lease {:g} s)", age, owner.lease)};
}

[[noreturn]] void fail_planned_anew(const fs::path& path) {
  throw file_error(path.string(),
                   fmt::format("{}: expected a file of this worker, found that the sweep was planned anew; "
                               "start the worker again",
                               path.string()));
}

void write_event_file(const fs::path& path, const std::vector<std::string>& lines) {
  write_whole_file(path, [&](OutputFile& file) {
    for (const std::string& line : lines) file.write(line);
  });
}

}  // namespace

double server_time(const fs::path& folder) {
  const fs::path probe = folder / "workers" / fmt::format(".time-{}", this_worker(0.0).id);
  const Descriptor file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  struct stat status {};
  const bool is_known = file.get() >= 0 && ::futimens(file.get(), nullptr) == 0 && ::fstat(file.get(), &status) == 0;
  if (file.get() >= 0) ::unlink(probe.c_str());
  if (is_known) return seconds_of(status.st_mtim);
  // The state of a sweep of another user can be read without write permission.
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

WorkerRecord this_worker(double lease) {
  return record_of(::getpid(), lease);
}

WorkerRecord worker_of(std::int64_t pid) {
  return record_of(pid, 0.0);
}

SweepWorker::SweepWorker(fs::path folder, double lease, bool is_supervised)
    : folder_(std::move(folder)), record_(this_worker(lease)) {
  if (is_supervised) {
    record_.starter = ::getppid();
    record_.starter_start = start_of(record_.starter);
  }
  const fs::path file = worker_file(folder_, record_.id);
  write_whole_file(file, to_json(record_).dump() + "\n");
  const fs::path log = folder_ / "results" / (record_.id + log_extension);
  const Descriptor created(::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (created.get() < 0) fail(log, "create this file", errno);
  renewal_ = std::jthread([this](const std::stop_token& stop) { renew(stop); });
}

SweepWorker::~SweepWorker() {
  renewal_ = {};
  ::unlink(worker_file(folder_, record_.id).c_str());
}

void SweepWorker::renew(const std::stop_token& stop) const {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  const auto period = std::chrono::duration<double>(record_.lease / 5.0);
  while (!stopped.wait_for(lock, stop, period, [] { return false; }) && !stop.stop_requested()) {
    ::utimensat(AT_FDCWD, worker_file(folder_, record_.id).c_str(), nullptr, 0);
  }
}

bool SweepWorker::claim(std::size_t run) {
  const fs::path own = worker_file(folder_, record_.id), file = claim_file(folder_, run);
  if (::link(own.c_str(), file.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno == EMLINK) {
    // A file has a limited number of names (65,000 in ext4): the next claims link to a new one with the same content.
    write_whole_file(own, to_json(record_).dump() + "\n");
    if (::link(own.c_str(), file.c_str()) == 0) return true;
    if (errno == EEXIST) return false;
  }
  if (errno == ENOENT) fail_planned_anew(own);
  fail(file, "claim a run by a hard link", errno);
}

bool SweepWorker::owns(std::size_t run) const {
  const auto claim = read_file_state(claim_file(folder_, run));
  const auto own = read_file_state(worker_file(folder_, record_.id));
  return claim && own && claim->status.st_ino == own->status.st_ino && claim->status.st_dev == own->status.st_dev;
}

void SweepWorker::release(std::size_t run) const {
  if (owns(run)) ::unlink(claim_file(folder_, run).c_str());
}

std::optional<LostClaim> SweepWorker::remove_lost_claim(std::size_t run) const {
  const fs::path file = claim_file(folder_, run);
  const auto judged = read_file_state(file);
  if (!judged) return std::nullopt;
  auto loss = loss_of(folder_, *judged);
  if (!loss) return std::nullopt;
  const fs::path removed = folder_ / "claims" / fmt::format(".{}-{}", run, record_.id);
  if (::rename(file.c_str(), removed.c_str()) != 0) return std::nullopt;  // another worker was faster
  const auto found = read_file_state(removed);
  const bool same = found && found->status.st_ino == judged->status.st_ino;
  // A claim that was made since: it is put back; if a third worker claims at this moment, the second one notices.
  if (!same) (void)!::link(removed.c_str(), file.c_str());
  std::error_code ignored;
  fs::remove_all(removed, ignored);
  if (!same) loss.reset();
  return loss;
}

void SweepWorker::record(Json event) const {
  std::string line = event_line(std::move(event));
  const fs::path log = folder_ / "results" / (record_.id + log_extension);
  // Opened for each event: closing passes the data to an NFS server, and a file that has gone is not made again.
  Descriptor file(::open(log.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) fail_planned_anew(log);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail(log, "open this file", errno);
  // The rest of a line that was cut off must not join this one.
  char last = '\n';
  if (status.st_size > 0 && ::pread(file.get(), &last, 1, status.st_size - 1) == 1 && last != '\n')
    line.insert(0, 1, '\n');
  const ssize_t n = ::write(file.get(), line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) return;
  const int code = n < 0 ? errno : ENOSPC;
  (void)!::ftruncate(file.get(), status.st_size);
  fail(log, "append a result", code);
}

std::string event_line(Json event) {
  std::string text = event.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string check = sha256_hex(text).substr(0, check_digits);
  text.pop_back();
  return text + std::string(check_name) + check + "\"}\n";
}

std::optional<Json> read_event(const std::string& line) {
  const std::size_t end = line.rfind(check_name);
  if (end == std::string::npos || line.size() != end + check_name.size() + check_digits + 2) return std::nullopt;
  if (sha256_hex(line.substr(0, end) + "}").substr(0, check_digits) !=
      line.substr(end + check_name.size(), check_digits)) {
    return std::nullopt;
  }
  Json json = Json::parse(line, nullptr, false);
  return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
}

void SweepResults::refresh(const OnEvent& on_event) {
  std::error_code ignored;
  for (const auto& [name, at] : read_) {
    const std::uint64_t size = fs::file_size(folder_ / "results" / name, ignored);
    if (ignored || size >= at) continue;
    *this = SweepResults(folder_, runs_.size());  // truncated: results that were read are lost
    break;
  }
  for (const auto& entry : fs::directory_iterator(folder_ / "results", ignored)) {
    if (entry.path().extension() != log_extension) continue;
    std::uint64_t& at = read_[entry.path().filename().string()];
    std::ifstream file(entry.path(), std::ios::binary);
    file.seekg(0, std::ios::end);
    const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
    if (size <= at) continue;
    file.seekg(static_cast<std::streamoff>(at));
    // The last line may still be in the course of being written.
    for (std::string line; std::getline(file, line) && !file.eof(); at += line.size() + 1) read(line, on_event);
  }
}

bool SweepResults::have_all_ended() {
  if (n_ended_ < runs_.size()) return false;
  *this = SweepResults(folder_, runs_.size());
  refresh();
  return n_ended_ == runs_.size();
}

void SweepResults::read(const std::string& line, const OnEvent& on_event) {
  const auto event = read_event(line);
  if (!event) {
    ++n_damaged_;
    return;
  }
  const std::size_t number = event->value("run", std::size_t{0});
  if (number == 0 || number > runs_.size()) return;
  RunState& run = runs_[number - 1];
  const std::string kind = event->value("event", "");
  if (kind == "ended") {
    if (std::exchange(run.ended, true)) return;
    ++n_ended_;
    const std::string status = event->value("status", "");
    if (status != "completed" && status != "incomplete") ++n_failed_;
    unfinished_.erase(number);
    checkpoints_.erase(number);
  } else if (kind == "lost" || kind == "stopped") {
    unfinished_[number] = event->value("running", "");
  }
  // The event of a new plan has no worker: what was stopped before does not count.
  if (kind == "lost" || (kind == "stopped" && event->contains("worker"))) {
    std::string checkpoint = event->value("checkpoint", "");
    std::string& last = checkpoints_[number];
    run.losses = checkpoint == last ? static_cast<std::uint8_t>(std::min(run.losses + 1, 255)) : std::uint8_t{1};
    last = std::move(checkpoint);
  }
  if (on_event) on_event(*event);
}

std::string SweepResults::unfinished(std::size_t number) const {
  const auto found = unfinished_.find(number);
  return found == unfinished_.end() ? "" : found->second;
}

std::map<std::size_t, std::string> find_claims(const fs::path& folder, const SweepResults& results) {
  std::map<std::size_t, std::string> claims;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "claims", ignored)) {
    std::size_t run = 0;
    const std::string name = entry.path().filename().string();
    if (std::from_chars(name.data(), name.data() + name.size(), run).ec != std::errc()) continue;
    if (run == 0 || run > results.size() || results.run(run).ended) continue;
    if (const std::string worker = claimant(folder, run); !worker.empty()) claims[run] = worker;
  }
  return claims;
}

std::vector<WorkerState> find_workers(const fs::path& folder) {
  std::vector<WorkerState> workers;
  std::error_code ignored;
  std::optional<double> now;
  for (const auto& entry : fs::directory_iterator(folder / "workers", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || entry.path().extension() == end_extension) continue;
    const auto state = read_file_state(entry.path());
    if (!state) continue;
    WorkerState worker;
    try {
      worker.record = record_from(state->text);
    } catch (const Json::exception&) {
      continue;  // in the course of being written
    }
    if (!now) now = server_time(folder);
    worker.age = std::abs(*now - seconds_of(state->status.st_mtim));
    if (const auto end = recorded_end(folder, worker.record.id)) {
      worker.ended = end->value("how", "");
    } else if (is_gone_from_host(worker.record)) {
      worker.ended = "its process has ended";
    }
    workers.push_back(std::move(worker));
  }
  return workers;
}

void record_worker_end(const fs::path& folder, const std::string& id, const std::string& how, bool is_crash) {
  write_whole_file(worker_file(folder, id + end_extension), Json{{"how", how}, {"crash", is_crash}}.dump() + "\n");
}

bool has_claim(const fs::path& folder, std::size_t run) {
  return ::access(claim_file(folder, run).c_str(), F_OK) == 0;
}

std::string claimant(const fs::path& folder, std::size_t run) {
  const auto state = read_file_state(claim_file(folder, run));
  if (!state) return "";
  const Json json = Json::parse(state->text, nullptr, false);
  return json.is_object() ? json.value("id", "") : "";
}

void make_queue_folders(const fs::path& folder) {
  for (const char* name : {"workers", "claims", "results", "running", "logs"}) {
    std::error_code failure;
    fs::create_directories(folder / name, failure);
    if (failure) {
      throw file_error((folder / name).string(),
                       fmt::format("{} cannot be created: {}", (folder / name).string(), failure.message()));
    }
  }
}

void for_each_event(const fs::path& folder, const SweepResults::OnEvent& on_event) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "results", ignored)) {
    if (entry.path().extension() != log_extension) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    for (std::string line; std::getline(file, line);) {
      if (const auto event = read_event(line)) on_event(*event);
    }
  }
}

void reset_queue(const fs::path& folder, const std::vector<std::string>& event_lines) {
  const fs::path kept = folder / "results" / (std::string("0") + log_extension);
  write_event_file(kept, event_lines);
  for (const char* name : {"claims", "workers", "results"}) {
    for (const auto& entry : fs::directory_iterator(folder / name)) {
      if (entry.path() != kept) fs::remove(entry.path());
    }
  }
}

}  // namespace heelstrike::client
