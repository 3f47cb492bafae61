#include "library/runs/execute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/results/resolution.hpp"
#include "common/results/summary.hpp"
#include "common/text/table.hpp"
#include "gait/ground_reactions.hpp"
#include "library/terminal/exit_codes.hpp"
#include "library/terminal/screen.hpp"
#include "rpc/exit_timer.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_displayed_episodes = 10;

/// Writes into the folder, and prints messages for the user on the terminal.
class ReportingSink : public RunSink {
 public:
  ReportingSink(RunFolder& folder, ProgressDisplay& display)
      : display_(display),
        files_(
            folder, [&display](const Progress& progress) { display.show(progress); }, wire::checkpoint_bytes) {}

  void on_schema(std::span<const Column> columns) override { files_.on_schema(columns); }
  void on_row(std::span<const double> values) override { files_.on_row(values); }
  void on_progress(const Progress& progress) override { files_.on_progress(progress); }
  void on_log(std::string_view level, std::string_view text) override {
    files_.on_log(level, text);
    if (level == "info" || level == "debug") return;
    if (!messages_.is_first(level, text)) return;
    display_.clear();
    print_message(level, text);
  }
  /// Of repeated messages.
  void print_repeat_counts(const fs::path& log) const { messages_.print_repeat_counts(log.string()); }
  void on_episode(const ContactEpisode& episode) override { files_.on_episode(episode); }
  void on_checkpoint(const Checkpoint& checkpoint) override { files_.on_checkpoint(checkpoint); }
  void on_resumed(std::optional<std::int64_t> step) override { files_.on_resumed(step); }
  void on_fields(const FieldFrame& frame) override { files_.on_fields(frame); }

 private:
  ProgressDisplay& display_;
  RunFolderSink files_;
  RepeatedMessages messages_;
};

void write_ground_reactions(const RunRequest& request, RunFolder& folder) {
  if (request.scenario.motions.empty() || !fs::exists(folder.path() / "timeseries.csv")) return;
  const FileContent content_of = content_in(request.files);
  const TimeSeries series = read_timeseries(folder.path());
  const std::string text = ground_reactions(request.scenario, series, content_of);
  if (text.empty()) return;
  folder.add_file(ground_reactions_file, text);
  const std::string measured = measured_reactions(request.scenario, series, content_of);
  if (!measured.empty()) folder.add_file(measured_reactions_file, measured);
  const std::string steps = plate_steps(request.scenario, content_of);
  if (!steps.empty()) folder.add_file(plate_steps_file, steps);
  folder.add_file(external_loads_file, external_loads(request.scenario));
}

std::string optional_text(const std::optional<double>& value) {
  return value ? number_text(*value) : "-";
}

/// Without columns that have no value.
Table episode_table(const RunSummary& summary) {
  Table table;
  table.header = {"contact",      "onset s",        "end s",       "max force N",    "max indentation m",
                  "approach m/s", "separation m/s", "restitution", "max impulse N s"};
  for (const ContactEpisode& e : summary.contacts) {
    if (table.rows.size() == max_displayed_episodes) break;
    table.rows.push_back({e.pair, number_text(e.onset), optional_text(e.end), number_text(displayed_force(e, summary)),
                          optional_text(displayed_indentation(e)), number_text(e.approach_velocity),
                          optional_text(e.separation_velocity), optional_text(e.effective_restitution),
                          optional_text(e.max_impulse)});
  }
  for (std::size_t c = table.header.size(); c-- > 0;) {
    if (!std::ranges::all_of(table.rows, [c](const auto& row) { return row[c] == "-"; })) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.header.erase(table.header.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  if (const std::size_t n = summary.contacts.size(); n > max_displayed_episodes) {
    table.rows.push_back({fmt::format("... {} more in summary.json", n - max_displayed_episodes)});
  }
  return table;
}

RunSummary run_until_stop(Runner& runner, const RunRequest& request, const RunFolder& folder, RunSink& sink,
                          std::stop_token stop) {
  std::optional<rpc::ExitTimer> exit_timer;
  const auto begin_to_wait = [&] {
    if (const auto grace = runner.stop_grace()) {
      exit_timer.emplace(*grace, to_int(ExitCode::interrupted), [&folder] {
        folder.mark_abandoned("cancelled: stopped on request, in the middle of a computation");
        print_message(
            "note", fmt::format("stopped in the middle of a computation; {} is marked incomplete and contains all rows "
                                "up to the stop; heelstrike resume {} continues it",
                                folder.path().string(), folder.path().string()));
      });
    }
  };
  const std::stop_callback on_stop(stop, begin_to_wait);
  return runner.run(request, sink, std::move(stop));
}

}  // namespace

void log_import(const RunRequest& request, RunFolder& folder) {
  for (const std::string& line : request.not_imported) {
    folder.add_log("info", "skipped or approximated: " + line);
  }
}

void finish_folder(const RunRequest& request, RunFolder& folder, const RunSummary& summary) {
  write_ground_reactions(request, folder);
  folder.finish(summary);
}

RunSummary execute(Runner& runner, const RunRequest& request, RunFolder& folder, bool quiet, std::stop_token stop) {
  ProgressDisplay display(run_name(request.scenario, ' '), quiet);
  ReportingSink sink(folder, display);
  RunSummary summary;
  log_import(request, folder);
  try {
    summary = run_until_stop(runner, request, folder, sink, std::move(stop));
    display.clear();
    sink.print_repeat_counts(folder.path() / "run.log");
    finish_folder(request, folder, summary);
  } catch (const Error& error) {
    folder.mark_abandoned(error.what());
    throw;
  }
  try {
    runner.release();
  } catch (const Error& error) {
    print_message("warning", fmt::format("the results are complete, but the copy on the server was not deleted: {}",
                                         error.what()));
  }
  return summary;
}

fs::path default_folder(const RunRequest& request) {
  const std::string name = run_name(request.scenario);
  fs::path folder = fs::path("runs") / name;
  std::error_code ignored;
  for (int n = 2; fs::exists(folder, ignored); ++n) folder = fs::path("runs") / fmt::format("{}-{}", name, n);
  return folder;
}

namespace {

std::string count_text(std::int64_t n) {
  return n < 0 ? "?" : fmt::format("{}", n);
}

/// "energy      12 J at the start, ..." in lines that fit the screen.
std::string labelled(const std::string& label, const std::string& text) {
  constexpr std::size_t indent = 12;
  const std::size_t width = screen_width(Stream::out);
  const auto lines = wrapped_lines(text, width > 2 * indent ? width - indent : text.size() + 1, "");
  return fmt::format("{:<{}}{}\n", label, indent, fmt::join(lines, "\n" + std::string(indent, ' ')));
}

std::string statistics_text(const RunSummary& summary, const Scenario& scenario) {
  const IntegratorStatistics& s = summary.integrator;
  if (s.steps < 0) return labelled("integrator", fmt::format("{}; its server ended before the statistics", s.name));
  std::string text =
      labelled("integrator", fmt::format("{}: {} steps, {} rejected, {} right-hand sides, {} Jacobians", s.name,
                                         s.steps, count_text(s.rejected_steps), count_text(s.rhs_evaluations),
                                         count_text(s.jacobian_evaluations)));
  std::string contact = fmt::format("{} evaluations, {} commits", count_text(summary.contact_evaluations),
                                    count_text(summary.contact_commits));
  if (summary.rpc && summary.rpc->calls > 1) {
    contact += fmt::format("; {} calls, median {:.0f} us, 99 % below {:.0f} us", summary.rpc->calls,
                           summary.rpc->p50_us, summary.rpc->p99_us);
  } else if (summary.rpc) {
    contact += fmt::format("; {} {}", summary.rpc->calls, summary.rpc->calls == 1 ? "call" : "calls");
  }
  text += labelled("contact", contact);
  const auto joule = [](double value, int digits) {
    return std::isnan(value) ? "unknown" : number_text(value, digits) + " J";
  };
  const EnergyBalance energy = to_resolution(summary.energy);
  text +=
      labelled("energy", fmt::format("{} at the start, {} at the end, {} of work by loads and drivers, {} dissipated",
                                     joule(energy.initial, 6), joule(energy.final, 6), joule(energy.external_work, 6),
                                     joule(energy.dissipated, 6)));
  // Unknown, or not defined for the analysis.
  if (std::isnan(energy.balance_error)) return text;
  std::string balance = "error of the balance " + joule(energy.balance_error, 3);
  if (const auto share = relative_balance_error(energy); share && energy.balance_error != 0.0) {
    balance += fmt::format(", {:.2g} % of the energy exchanged", 100.0 * *share);
    // The warning that the run itself gives, from the data of the summary.
    if (scenario.analysis.traits.finds_events && is_outlier(energy)) balance += ": do not trust this motion";
  }
  if (scenario.analysis.traits.prescribed) {
    balance += " (prescribed motion: the work of the contact is not in this balance)";
  }
  return text + labelled("", balance);
}

}  // namespace

std::string summary_text(const RunSummary& summary, const Scenario& scenario, const fs::path& folder) {
  const double factor = summary.wall_time > 0.0 ? summary.simulated_time / summary.wall_time : 0.0;
  const std::string model = scenario.pairs.empty() ? "" : " with " + summary.backend;
  std::string text =
      fmt::format("{}{}: {} at t = {:g} s, {:.3g} s of wall time ({:.3g}x real time)\n", summary.scenario, model,
                  coloured_status(summary.status, Stream::out), summary.simulated_time, summary.wall_time, factor);
  // A run that ended before its first step has no statistics.
  if (summary.simulated_time > 0.0 || summary.status == "completed") text += statistics_text(summary, scenario);
  if (!summary.contacts.empty()) text += episode_table(summary).fitted(screen_width(Stream::out));
  text += fmt::format("results     {}\n", folder.string());
  std::error_code ignored;
  const fs::path page = folder / "report.html";
  return fs::exists(page, ignored) ? text + fmt::format("page        {}\n", file_link(page)) : text;
}

}  // namespace heelstrike
