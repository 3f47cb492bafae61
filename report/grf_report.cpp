#include "report/grf_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "report/page.hpp"

namespace heelstrike::report {
namespace {

namespace fs = std::filesystem;

/// The curves of one plate at its sample times.
RunData plate_data(const std::string& label, const ForcePlate& plate, double from, double to) {
  RunData run;
  run.label = label;
  run.series.columns = {"time_s"};
  for (const char* ending :
       {".fx_N", ".fy_N", ".fz_N", ".copx_m", ".copy_m", ".copz_m", ".tx_Nm", ".ty_Nm", ".tz_Nm"}) {
    run.series.columns.push_back(plate.name + ending);
  }
  for (std::size_t i = 0; i < plate.times.size(); ++i) {
    if (plate.times[i] < from || plate.times[i] > to) continue;
    run.series.values.push_back(plate.times[i]);
    // Files of plates have a zero centre of pressure without load, which is not a position.
    const bool loaded = !plate.force[i].isZero(0.0);
    const Vector3 point = loaded ? plate.point[i] : Vector3::Constant(std::numeric_limits<double>::quiet_NaN());
    for (const Vector3& v : {plate.force[i], point, plate.moment[i]}) {
      run.series.values.insert(run.series.values.end(), {v.x(), v.y(), v.z()});
    }
  }
  return run;
}

/// Curves of several plates with the same times as one table.
void append_columns(RunData& to, const RunData& from) {
  const std::size_t n_old = to.series.columns.size();
  const std::size_t n_new = from.series.columns.size() - 1;
  const std::size_t rows = to.series.rows();
  std::vector<double> values;
  values.reserve(rows * (n_old + n_new));
  for (std::size_t r = 0; r < rows; ++r) {
    const auto old_row = to.series.values.begin() + static_cast<std::ptrdiff_t>(r * n_old);
    const auto new_row = from.series.values.begin() + static_cast<std::ptrdiff_t>(r * (n_new + 1) + 1);
    values.insert(values.end(), old_row, old_row + static_cast<std::ptrdiff_t>(n_old));
    values.insert(values.end(), new_row, new_row + static_cast<std::ptrdiff_t>(n_new));
  }
  to.series.columns.insert(to.series.columns.end(), from.series.columns.begin() + 1, from.series.columns.end());
  to.series.values = std::move(values);
}

/// Plates of one source; plates with other times than the first one are in separate tables.
void add_source(std::vector<RunData>& runs, const std::string& label, const std::vector<ForcePlate>& plates,
                const std::vector<ForcePlate>& wanted, double from, double to) {
  const std::size_t first = runs.size();
  for (const ForcePlate& plate : plates) {
    if (std::ranges::find(wanted, plate.name, &ForcePlate::name) == wanted.end()) continue;
    RunData data = plate_data(label, plate, from, to);
    if (runs.size() > first && runs.back().series.rows() == data.series.rows()) {
      append_columns(runs.back(), data);
    } else {
      runs.push_back(std::move(data));
    }
  }
}

}  // namespace

fs::path write_grf_report(const fs::path& folder, const GrfPage& page, const std::vector<ForcePlate>& measured,
                          const std::vector<ForcePlate>& predicted) {
  double from = 1e300;
  double to = -1e300;
  for (const ForcePlate& plate : predicted) {
    if (plate.times.empty()) continue;
    from = std::min(from, plate.times.front());
    to = std::max(to, plate.times.back());
  }
  std::vector<RunData> runs;
  add_source(runs, "measured", measured, predicted, from, to);
  add_source(runs, "run", predicted, measured, from, to);
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    throw file_error(folder.string(), fmt::format("cannot create {}: {}", folder.string(), failure.message()));
  for (std::size_t i = 0; i < page.tables.size(); ++i) {
    if (!page.tables[i].svg.empty()) write_whole_file(folder / fmt::format("stance_{}.svg", i + 1), page.tables[i].svg);
  }
  fs::path file = folder / "report.html";
  write_whole_file(file, measurement_page(page, runs));
  return file;
}

}  // namespace heelstrike::report
