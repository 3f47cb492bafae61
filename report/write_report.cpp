#include "report/write_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "common/errors/error.hpp"
#include "common/files/file_digests.hpp"
#include "common/files/output_file.hpp"
#include "report/fields_data.hpp"
#include "report/page.hpp"

namespace heelstrike::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t field_values_per_page = 1'300'000;  // 2 bytes each before compression: a page below 6 MB

void read_fields(const fs::path& folder, std::size_t budget, RunData& run) {
  if (!fs::exists(folder / "fields.pvd")) return;
  run.fields = fields_json(folder, run.series.columns, budget);
  run.prints = foot_prints(folder, run.series, run.model);
  for (const FieldFile& file : read_field_index(folder)) run.field_times.push_back(file.time);
}

constexpr const char* page_name = "report.html";
constexpr const char* regions_name = "contact_regions.csv";

/// Writes contact_regions.csv if the surfaces of a run have several regions. @returns true if written
bool write_regions(const fs::path& folder, const RunData& run) {
  std::vector<RegionLoads> pairs;
  for (const FootPrint& print : run.prints) {
    if (print.loads) pairs.push_back(*print.loads);
  }
  if (pairs.empty()) return false;
  write_whole_file(folder / regions_name, region_table(pairs));
  return true;
}

std::string page_of_comparison(const fs::path& folder, const Catalog& catalog) {
  const fs::path file = folder / "comparison.json";
  Json comparison;
  try {
    comparison = Json::parse(read_whole_file(file));
    std::vector<RunData> runs;
    for (const Json& row : comparison.at("rows")) {
      const std::string name = row.at("folder");
      if (runs.size() == max_runs_with_curves) break;
      if (!name.empty()) runs.push_back(read_run_data(folder / name, row.at("backend"), name, catalog));
    }
    const std::size_t n = std::min(runs.size(), runs_in_3d);
    for (std::size_t r = 0; r < n; ++r) {
      read_fields(folder / runs[r].folder, field_values_per_page / n, runs[r]);
      if (write_regions(folder / runs[r].folder, runs[r])) {
        record_file_digests(folder / runs[r].folder, std::array<std::string, 1>{regions_name});
      }
    }
    return comparison_page(comparison, runs);
  } catch (const Json::exception& error) {
    throw file_error(file.string(), fmt::format("{}: expected a comparison written by heelstrike compare, found: {}",
                                                file.string(), error.what()));
  }
}

}  // namespace

bool is_comparison(const fs::path& folder) {
  return fs::exists(folder / "comparison.json");
}

fs::path write_report(const fs::path& folder, const Catalog& catalog) {
  fs::path file = folder / page_name;
  if (is_comparison(folder)) {
    write_whole_file(file, page_of_comparison(folder, catalog));
    return file;
  }
  if (!fs::exists(folder / "scenario.yaml")) {
    throw file_error(folder.string(), fmt::format("{}: expected a run folder (with scenario.yaml) or the folder of a "
                                                  "comparison (with comparison.json), found neither",
                                                  folder.string()));
  }
  RunData run = read_run_data(folder, fs::absolute(folder).lexically_normal().filename().string(), "", catalog);
  read_fields(folder, field_values_per_page, run);
  std::vector<std::string> written = {page_name};
  if (write_regions(folder, run)) written.emplace_back(regions_name);
  if (run.summary) run.label = has_pairs(run) ? run.summary->backend : run.summary->scenario;
  write_whole_file(file, run_page(run));
  record_file_digests(folder, written);
  return file;
}

}  // namespace heelstrike::report
