#include <heelstrike/run.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/process/version.hpp"
#include "common/results/run_folder.hpp"
#include "library/bindings/boundary.hpp"
#include "library/composition/embedded.hpp"
#include "library/composition/shapes.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/execute.hpp"
#include "library/runs/remote_runner.hpp"
#include "report/columns.hpp"
#include "report/shapes.hpp"
#include "report/tables.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace hs {

namespace inner = heelstrike;

namespace {

/// Writes into the folder, and forwards messages for the user to the caller.
class CallbackSink final : public inner::RunSink {
 public:
  CallbackSink(inner::RunFolder& folder, const RunOptions& options)
      : options_(options),
        files_(
            folder, [&options](const inner::Progress& progress) { report_progress(options, progress); },
            inner::wire::checkpoint_bytes) {}

  void on_schema(std::span<const inner::Column> columns) override { files_.on_schema(columns); }
  void on_row(std::span<const double> values) override { files_.on_row(values); }
  void on_progress(const inner::Progress& progress) override { files_.on_progress(progress); }
  void on_log(std::string_view level, std::string_view text) override {
    files_.on_log(level, text);
    if (level == "info" || level == "debug" || !options_.on_message) return;
    options_.on_message(std::string(level), std::string(text));
  }
  void on_episode(const inner::ContactEpisode& episode) override { files_.on_episode(episode); }
  void on_checkpoint(const inner::Checkpoint& checkpoint) override { files_.on_checkpoint(checkpoint); }
  void on_resumed(std::optional<std::int64_t> step) override { files_.on_resumed(step); }
  void on_fields(const inner::FieldFrame& frame) override { files_.on_fields(frame); }

 private:
  static void report_progress(const RunOptions& options, const inner::Progress& progress) {
    if (!options.on_progress) return;
    const bool is_running = progress.stage.empty();
    options.on_progress({.stage = progress.stage,
                         .fraction = !is_running             ? progress.fraction
                                     : progress.end_time > 0 ? progress.time / progress.end_time
                                                             : 0.0,
                         .time = progress.time,
                         .end_time = progress.end_time,
                         .wall_time = progress.wall_time});
  }

  const RunOptions& options_;
  inner::RunFolderSink files_;
};

std::unique_ptr<inner::Runner> runner_of(const RunOptions& options, const std::filesystem::path& folder) {
  if (options.mbs.empty()) {
    return inner::make_embedded_runner(inner::bindings::contact_source(options));
  }
  const inner::ServerOptions servers{
      .mbs = options.mbs,
      .fem = options.server,
      .tls = inner::bindings::inside(options.tls),
      .reconnect_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * options.reconnect_timeout))};
  return std::make_unique<inner::RemoteRunner>(servers, std::filesystem::absolute(folder / "run.log"));
}

RunOutcome outcome_of(const inner::RunSummary& summary) {
  RunOutcome outcome{.status = summary.status, .reason = {}, .code = ErrorCode::cancelled};
  if (summary.error) {
    outcome.reason = summary.error->what();
    outcome.code = inner::bindings::public_code(summary.error->code());
    outcome.retryable = summary.error->retryable();
  } else if (summary.status == "cancelled") {
    outcome.reason = "stopped on request";
  }
  return outcome;
}

}  // namespace

RunOutcome run(const std::string& file, const RunOptions& options, const Changes& changes) {
  return inner::bindings::with_public_errors(file, [&] {
    inner::report::check_table_formats(options.tables);
    const auto request = inner::load_request(file, inner::bindings::inside(changes),
                                             inner::schemas_of(inner::embedded_backends()), options.stop);
    (void)inner::find_pair_warnings(request);  // the preparation reports the warnings
    if (options.on_message) {
      for (const std::string& note : request.notes) options.on_message("note", note);
    }
    inner::RunFolder folder(options.folder, request.yaml, options.overwrite,
                            {.scenario = std::filesystem::absolute(file), .files = inner::file_digests(request)},
                            inner::report::table_files());
    inner::log_import(request, folder);
    inner::RunSummary summary;
    try {
      inner::report::write_shapes(
          folder, inner::body_shapes(request.scenario, request.files, inner::report::max_displayed_triangles));
      const auto runner = runner_of(options, folder.path());
      CallbackSink sink(folder, options);
      summary = runner->run(request, sink, options.stop);
      inner::finish_folder(request, folder, summary);
      runner->release();
    } catch (const inner::Error& error) {
      folder.mark_abandoned(error.what());
      throw;
    }
    inner::report::write_results(folder.path(),
                                 summary.status == "completed" ? options.tables : std::vector<std::string>(),
                                 inner::scenario_catalog());
    return outcome_of(summary);
  });
}

TimeSeries read_timeseries(const std::string& folder) {
  return inner::bindings::with_public_errors(folder, [&] {
    inner::TimeSeries series = inner::read_timeseries(folder);
    return TimeSeries{.columns = std::move(series.columns), .values = std::move(series.values)};
  });
}

std::vector<ColumnName> read_column_names(const std::vector<std::string>& names) {
  std::vector<ColumnName> read;
  for (inner::report::ColumnName& name : inner::report::read_column_names(names)) {
    read.push_back({.owner = std::move(name.owner),
                    .short_name = std::move(name.short_name),
                    .unit = std::move(name.unit),
                    .quantity = std::move(name.quantity)});
  }
  return read;
}

std::vector<Backend> backends() {
  std::vector<Backend> made;
  for (const inner::BackendInfo& backend : inner::embedded_backends()) {
    made.push_back({.name = backend.name, .summary = backend.summary});
  }
  return made;
}

std::vector<Table> table_formats() {
  std::vector<Table> made;
  for (const inner::report::TableFormat& format : inner::report::table_formats()) {
    made.push_back({.name = format.name, .option = format.option(), .description = format.description});
  }
  return made;
}

const char* version() noexcept {
  return inner::program_version.data();
}

}  // namespace hs
