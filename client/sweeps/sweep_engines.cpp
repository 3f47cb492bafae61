#include "client/sweeps/sweep_engines.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "client/sweeps/sweep_queue.hpp"
#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/process/process.hpp"
#include "common/process/version.hpp"
#include "common/text/suggestion.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> worker_arguments(const EngineOptions& options) {
  return {"sweep", "--worker", options.folder.string(), "--lease", fmt::format("{:g}", options.lease)};
}

/// The command of a worker for a shell on any machine with the same folders.
std::string worker_command(const EngineOptions& options) {
  std::error_code ignored;
  std::string command = shell_quoted(fs::read_symlink("/proc/self/exe", ignored).string());
  for (const std::string& argument : worker_arguments(options)) command += " " + shell_quoted(argument);
  return command;
}

/// Child processes of this program, with one log each.
class ChildrenEngine : public SweepEngine {
 public:
  explicit ChildrenEngine(EngineOptions options) : options_(std::move(options)) {}

  void start(unsigned n) override {
    for (unsigned i = 0; i < n; ++i) {
      const unsigned number = ++n_started_;
      const fs::path log = options_.folder / "logs" / fmt::format("worker-{}.log", number);
      std::error_code ignored;
      fs::remove(log, ignored);  // of an earlier sweep
      ChildOptions child = child_of(number);
      child.name = fmt::format("worker {}", number);
      child.log = log;
      auto& added = children_.emplace_back();
      added.process = std::make_unique<ChildProcess>(std::move(child));
      added.id = worker_of(added.process->pid()).id;
      added.log = log;
    }
  }

  unsigned n_active() override {
    for (auto child = children_.begin(); child != children_.end();) {
      const auto end = child->process->ended();
      if (!end) {
        ++child;
        continue;
      }
      record_end(*child, *end);
      child = children_.erase(child);
    }
    return static_cast<unsigned>(children_.size());
  }

  void stop(std::chrono::milliseconds grace) override {
    // All at once: each needs the time of a step.
    for (const Child& child : children_) ::kill(child.process->pid(), SIGTERM);
    for (const Child& child : children_) child.process->stop(grace);
    (void)n_active();
  }

  bool replaces_single_workers() const override { return true; }
  std::string last_message() const override { return last_message_; }

 protected:
  struct Child {
    std::unique_ptr<ChildProcess> process;
    std::string id;
    fs::path log;
  };
  [[nodiscard]] virtual ChildOptions child_of(unsigned number) const = 0;
  virtual void record_end(const Child& child, const ProcessEnd& end) {
    if (end.success()) return;
    const std::string line = last_line(child.log);
    last_message_ = line.empty() ? end.text() : fmt::format("{} ({})", line, end.text());
  }
  [[nodiscard]] const EngineOptions& options() const { return options_; }
  [[nodiscard]] std::vector<pid_t> process_numbers() const {
    std::vector<pid_t> numbers;
    for (const Child& child : children_) numbers.push_back(child.process->pid());
    return numbers;
  }

 private:
  EngineOptions options_;
  std::vector<Child> children_;
  unsigned n_started_ = 0;
  std::string last_message_;
};

class LocalEngine final : public ChildrenEngine {
 public:
  using ChildrenEngine::ChildrenEngine;
  ~LocalEngine() override = default;

 private:
  ChildOptions child_of(unsigned) const override {
    ChildOptions child{.name = {}, .program = "/proc/self/exe", .arguments = worker_arguments(options()), .log = {}};
    child.arguments.emplace_back("--supervised");
    child.arguments.push_back(fmt::format("--exit-with-parent={}", ::getpid()));
    return child;
  }
  void record_end(const Child& child, const ProcessEnd& end) override {
    ChildrenEngine::record_end(child, end);
    // Signals that users and the kernel send to any process are independent of the run.
    constexpr std::array sent = {SIGKILL, SIGTERM, SIGINT, SIGHUP};
    const bool is_crash = end.by_signal && std::ranges::find(sent, end.code) == sent.end();
    record_worker_end(options().folder, child.id, end.text(), is_crash);
  }
};

class CommandEngine final : public ChildrenEngine {
 public:
  using ChildrenEngine::ChildrenEngine;
  ~CommandEngine() override = default;

  /// The shell of a command may have started the worker as its child.
  void stop(std::chrono::milliseconds grace) override {
    const auto groups = process_numbers();
    for (const pid_t group : groups) ::kill(-group, SIGTERM);
    const auto end = Clock::now() + grace;
    const auto is_left = [](pid_t group) { return ::kill(-group, 0) == 0; };
    while (Clock::now() < end && std::ranges::any_of(groups, is_left)) {
      (void)n_active();
      ::usleep(20'000);
    }
    for (const pid_t group : groups) ::kill(-group, SIGKILL);
    (void)n_active();
  }

 private:
  ChildOptions child_of(unsigned number) const override {
    std::string text = options().command;
    const std::pair<std::string, std::string> values[] = {{"{n}", std::to_string(number)},
                                                          {"{}", worker_command(options())}};
    for (const auto& [name, value] : values) {
      for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size())) {
        text.replace(at, name.size(), value);
      }
    }
    return {.name = {}, .program = "/bin/sh", .arguments = {"-c", text}, .log = {}};
  }
};

/// Output and end of a command of Slurm.
struct CommandResult {
  std::string out;
  ProcessEnd end;
};

/// sbatch replaces %A, %j, ... in names of files.
std::string without_patterns(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

class SlurmEngine final : public SweepEngine {
 public:
  explicit SlurmEngine(EngineOptions options) : options_(std::move(options)) {}
  ~SlurmEngine() override = default;

  void start(unsigned n) override {
    // The batch process itself receives SIGTERM before the walltime, and stops its run with a checkpoint.
    const CommandResult result = call(fmt::format(
        "sbatch --parsable --array=1-{} --job-name={} --output={} --open-mode=append --signal=B:TERM@60 {} --wrap={}",
        n, shell_quoted("heelstrike-" + options_.name),
        shell_quoted(without_patterns((options_.folder / "logs").string()) + "/slurm-%A_%a.log"), options_.slurm,
        shell_quoted("exec " + worker_command(options_))));
    const std::string last = result.out.substr(result.out.rfind('\n') + 1);
    if (!result.end.success() || last.empty() || std::isdigit(static_cast<unsigned char>(last[0])) == 0) {
      if (!job_.empty()) throw unavailable_error("sbatch did not accept the job again: " + result.out);
      throw input_error("on",
                        fmt::format("--on slurm: expected that sbatch accepts the job, found: {} ({}); correct the "
                                    "options in --slurm",
                                    result.out, result.end.text()));
    }
    job_ = last.substr(0, last.find(';'));
    n_active_ = n;
    next_look_ = Clock::now() + look_interval;
  }

  unsigned n_active() override {
    if (job_.empty() || Clock::now() < next_look_) return n_active_;
    next_look_ = Clock::now() + look_interval;
    const CommandResult result = call("squeue --noheader --array --format=%T --jobs=" + job_);
    if (!result.end.success()) {
      // A controller that does not respond provides no state of the job.
      if (result.out.find("Invalid job id") != std::string::npos) n_active_ = 0;
      return n_active_;
    }
    n_active_ = result.out.empty() ? 0U : static_cast<unsigned>(std::ranges::count(result.out, '\n')) + 1U;
    return n_active_;
  }

  void stop(std::chrono::milliseconds grace) override {
    if (job_.empty()) return;
    (void)call("scancel --batch --signal=TERM " + job_);
    (void)call("scancel --state=PENDING " + job_);
    const auto end = Clock::now() + grace;
    next_look_ = {};
    while (n_active() > 0 && Clock::now() < end) {
      ::usleep(200'000);
      next_look_ = {};
    }
    if (n_active_ > 0) (void)call("scancel " + job_);
  }

  std::string refusal() override {
    const CommandResult result = call("scontrol --oneliner show job " + job_);
    // Some tasks may have been cancelled alone, or have reached their walltime.
    for (const char* other : {"JobState=TIMEOUT", "JobState=NODE_FAIL", "JobState=FAILED", "JobState=COMPLETED"}) {
      if (result.out.find(other) != std::string::npos) return {};
    }
    if (result.out.find("JobState=CANCELLED") == std::string::npos) return {};
    return fmt::format("the job {} was cancelled", job_);
  }
  std::string last_message() const override {
    return fmt::format("see {}", (options_.folder / "logs" / fmt::format("slurm-{}_*.log", job_)).string());
  }

 private:
  static constexpr std::chrono::seconds look_interval{1};

  CommandResult call(const std::string& command) const {
    const fs::path output = options_.folder / "logs" / fmt::format(".slurm-{}", ::getpid());
    std::error_code ignored;
    fs::remove(output, ignored);
    ChildProcess child({.name = "slurm", .program = "/bin/sh", .arguments = {"-c", command}, .log = output});
    const auto end = child.ended(std::chrono::minutes(2));
    CommandResult result{.out = fs::exists(output, ignored) ? read_whole_file(output) : "",
                         .end = end.value_or(ProcessEnd{.by_signal = true, .code = SIGALRM})};
    while (result.out.ends_with('\n')) result.out.pop_back();
    fs::remove(output, ignored);
    return result;
  }

  EngineOptions options_;
  std::string job_;
  unsigned n_active_ = 0;
  Clock::time_point next_look_;
};

std::unique_ptr<SweepEngine> make_local(const EngineOptions& options) {
  return std::make_unique<LocalEngine>(options);
}

std::unique_ptr<SweepEngine> make_slurm(const EngineOptions& options) {
  for (const char* program : {"sbatch", "squeue", "scancel", "scontrol"}) {
    if (!find_in_path(program).empty()) continue;
    throw input_error("on", fmt::format("--on slurm: expected the programs of Slurm in PATH, found no {}; log in to a "
                                        "machine of the cluster that submits jobs, or start one here with "
                                        "scripts/slurm-here",
                                        program));
  }
  return std::make_unique<SlurmEngine>(options);
}

std::unique_ptr<SweepEngine> make_command(const EngineOptions& options) {
  if (options.command.find("{}") == std::string::npos) {
    throw input_error("command",
                      fmt::format("--on command: expected --command 'CMD {{}}', where {{}} is the command of a "
                                  "worker, found '{}'; e.g. --command 'ssh node{{n}} {{}}'",
                                  options.command));
  }
  return std::make_unique<CommandEngine>(options);
}

std::string manual_instructions(const EngineOptions& options) {
  return fmt::format("start any number of workers, on any machines that see this folder:\n  {} --tables\n",
                     worker_command(options));
}

/// The deepest folder that contains both: it is mounted at the same place in the containers.
fs::path common_folder(const fs::path& a, const fs::path& b) {
  fs::path common;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end() && *i == *j; ++i, ++j) common /= *i;
  return common;
}

/// As in JSON, and so in YAML.
std::string quoted(const fs::path& path) {
  return nlohmann::json(path.string()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string write_kubernetes_job(const EngineOptions& options) {
  std::string name = "heelstrike-";
  for (const char c : options.name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += plain ? c : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : '-';
  }
  name = name.substr(0, 50);
  while (name.ends_with('-')) name.pop_back();
  const fs::path file = options.folder / "kubernetes-job.yaml";
  const fs::path mounted = common_folder(options.folder, options.scenario.parent_path());
  if (mounted == mounted.root_path()) {
    throw input_error("on",
                      fmt::format("--on kubernetes: expected a folder that contains both {} and {}, to be mounted in "
                                  "the containers, found none but /; choose another folder with -o",
                                  options.folder.string(), options.scenario.string()));
  }
  write_whole_file(file,
                   fmt::format(R"(# Workers of a sweep as an indexed Job. The volume claim has the files of {1}, and is
# mounted there: the plan names the scenario by its path on the machine that planned. The image is the target `client` of
# the Dockerfile; its user has the number 10001 and needs to write there.
apiVersion: batch/v1
kind: Job
metadata:
  name: {0}
spec:
  completionMode: Indexed
  completions: {2}
  parallelism: {2}
  backoffLimit: {3}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: heelstrike
    spec:
      restartPolicy: OnFailure
      terminationGracePeriodSeconds: 60
      containers:
        - name: worker
          image: heelstrike-client:{4}
          command: ["heelstrike", "sweep", "--worker", {5}, "--lease", "{6:g}", "--tables"]
          volumeMounts:
            - name: sweep
              mountPath: {7}
      volumes:
        - name: sweep
          persistentVolumeClaim:
            claimName: heelstrike
)",
                               name, mounted.string(), options.n_workers, 3 * options.n_workers, program_version,
                               quoted(options.folder), options.lease, quoted(mounted)));
  return fmt::format("the manifest is {0}; start the workers with\n  kubectl apply -f {0}\n", file.string());
}

const std::array engines = {
    EngineEntry{.name = "local", .summary = "processes of this machine", .make = make_local},
    EngineEntry{
        .name = "slurm", .summary = "a job array of Slurm, submitted again at its walltime", .make = make_slurm},
    EngineEntry{.name = "command", .summary = "processes of --command, e.g. through ssh", .make = make_command},
    EngineEntry{.name = "kubernetes",
                .summary = "writes the manifest of an indexed Job",
                .make = nullptr,
                .instructions = write_kubernetes_job},
    EngineEntry{
        .name = "none", .summary = "writes the plan alone", .make = nullptr, .instructions = manual_instructions},
};

}  // namespace

std::span<const EngineEntry> sweep_engines() {
  return engines;
}

const EngineEntry& find_engine(const std::string& name) {
  std::vector<std::string> names;
  for (const EngineEntry& engine : engines) {
    if (name == engine.name) return engine;
    names.emplace_back(engine.name);
  }
  throw input_error("on", "--on: " + unknown_name_message("engine", name, names));
}

}  // namespace heelstrike::client
