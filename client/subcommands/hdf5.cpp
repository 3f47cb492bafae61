// heelstrike hdf5: writes a run folder as one HDF5 file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "library/runs/file_kind.hpp"
#include "report/hdf5/run_hdf5.hpp"

namespace heelstrike::client {
namespace {

struct Hdf5Options {
  std::filesystem::path run;
  std::filesystem::path output;
  bool force = false;
};

/// Another extension stands for another format.
void check_ending(const std::filesystem::path& run, const std::filesystem::path& file) {
  constexpr std::array<std::string_view, 4> endings = {"", ".h5", ".hdf5", ".hdf"};
  const std::string ending = file.extension().string();
  if (std::ranges::find(endings, ending) != endings.end()) return;
  throw input_error("output",
                    fmt::format("--output: expected a file name that ends in .h5 or .hdf5, found {}; the time "
                                "series as CSV is {}",
                                file.string(), (run / "timeseries.csv").string()));
}

ExitCode write(const Hdf5Options& options) {
  require_run_folder(options.run);
  check_ending(options.run, options.output);
  std::filesystem::path folder = options.run;
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/ball/"
  const std::filesystem::path file =
      options.output.empty() ? std::filesystem::path(folder.string() + ".h5") : options.output;
  write_hdf5(options.run, file, options.force);
  fmt::print("{}\n", file.string());
  return ExitCode::ok;
}

Action add_hdf5(CLI::App& command, bool& /*as_json*/) {
  const auto options = std::make_shared<Hdf5Options>();
  command.add_option("RUN", options->run, "Folder of a run, sweep or comparison")->required()->type_name("FOLDER");
  command.add_option("-o,--output", options->output, "File to write; default RUN.h5")->type_name("FILE");
  command.add_flag("--force", options->force, "Replace an existing file");
  return [options](bool /*json*/, const std::stop_token& /*stop*/) { return write(*options); };
}

}  // namespace

Subcommand hdf5_command() {
  return {.name = "hdf5",
          .summary = "Write the time series and fields of a run, or the table of a sweep, into one HDF5 file",
          .examples = "  heelstrike hdf5 runs/bouncing_ball-flores -o ball.h5",
          .add = add_hdf5};
}

}  // namespace heelstrike::client
