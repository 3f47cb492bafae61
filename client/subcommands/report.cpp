// heelstrike report: writes the page of a run folder or a comparison again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/file_kind.hpp"
#include "report/pictures.hpp"
#include "report/write_report.hpp"

namespace heelstrike::client {
namespace {

struct ReportOptions {
  std::filesystem::path folder;
  bool png = false;
  bool svg = false;
  bool pdf = false;
  std::size_t contact = 0;  ///< 0 = none in particular
  report::PictureStyle style;
};

/// Folders of single runs: the folder itself, or those of the rows of a comparison.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& folder) {
  if (!report::is_comparison(folder)) return {folder};
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    // A row that failed before its first step has no table and nothing to draw.
    if (std::filesystem::exists(entry.path() / "timeseries.csv")) folders.push_back(entry.path());
  }
  // The order of a directory depends on the file system; that of the charts must not.
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<std::string> write_files(const ReportOptions& options) {
  std::vector<std::string> files = {report::write_report(options.folder, scenario_catalog()).string()};
  for (const auto& [requested, format] :
       {std::pair{options.png, report::PictureFormat::png}, std::pair{options.svg, report::PictureFormat::svg},
        std::pair{options.pdf, report::PictureFormat::pdf}}) {
    if (!requested) continue;
    report::PictureStyle style = options.style;
    style.format = format;
    if (options.contact > 0) style.contact = options.contact;
    if (report::is_comparison(options.folder)) {
      for (const auto& file : report::write_comparison_pictures(options.folder, style, scenario_catalog())) {
        files.push_back(file.string());
      }
    }
    for (const auto& folder : run_folders(options.folder)) {
      for (const auto& file : report::write_pictures(folder, style, scenario_catalog())) files.push_back(file.string());
    }
  }
  return files;
}

ExitCode report_on(const ReportOptions& options, bool json) {
  require_run_folder(options.folder);
  const std::vector<std::string> files = write_files(options);
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"files", files}}.dump(2));
  } else {
    for (const std::string& file : files) fmt::print("{}\n", file);
  }
  return ExitCode::ok;
}

Action add_report(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<ReportOptions>();
  command.add_option("folder", options->folder, "Run folder, or folder of a comparison or sweep")
      ->required()
      ->type_name("FOLDER");
  command.add_flag("--png", options->png, "Also charts as PNG, 300 dots per inch, in FOLDER/pictures (with gnuplot)");
  command.add_flag("--svg", options->svg, "Also charts as SVG in FOLDER/pictures (with gnuplot)");
  command.add_flag("--pdf", options->pdf, "Also charts as PDF in FOLDER/pictures (with gnuplot)");
  auto* contact =
      command.add_option("--contact", options->contact, "Charts of one contact only: its row in the table of contacts")
          ->check(CLI::PositiveNumber)
          ->type_name("N");
  command
      .add_flag("--whole-run", options->style.whole_run,
                "Charts of all times; default: the window that the page opens with")
      ->excludes(contact);
  command.add_option("--width", options->style.width_cm, "Width of a chart in cm")
      ->check(CLI::Range(2.0, 100.0))
      ->capture_default_str();
  command.add_option("--height", options->style.height_cm, "Height of a chart in cm")
      ->check(CLI::Range(2.0, 100.0))
      ->capture_default_str();
  command.add_option("--font-size", options->style.font_points, "Font size in points")
      ->check(CLI::Range(3.0, 72.0))
      ->capture_default_str();
  command.add_flag("--json", as_json, "Print the written files as JSON");
  return [options](bool json, const std::stop_token& /*stop*/) { return report_on(*options, json); };
}

}  // namespace

Subcommand report_command() {
  return {.name = "report",
          .summary = "Write the page (report.html) or charts of a run or a comparison",
          .examples =
              "  heelstrike report runs/bouncing_ball-flores\n"
              "  heelstrike report runs/bouncing_ball-flores --svg --width 8.4 --height 6 --font-size 8\n"
              "  heelstrike report runs/bouncing_ball-comparison --pdf --contact 1",
          .add = add_report};
}

}  // namespace heelstrike::client
