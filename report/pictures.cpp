#include "report/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/process/process.hpp"
#include "common/results/run_folder.hpp"
#include "report/columns.hpp"
#include "report/contact_windows.hpp"
#include "report/foot_prints.hpp"
#include "report/run_data.hpp"
#include "report/units.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds drawing_time{120};
constexpr double dots_per_inch = 300.0;
constexpr double cm_per_inch = 2.54;
constexpr double points_per_inch = 72.0;
constexpr double screen_dots = 96.0;

struct Curve {
  fs::path file;  ///< timeseries.csv
  std::string x;  ///< in gnuplot syntax, in SI: "$1"
  std::string y;
  std::string title;
};

struct Axis {
  std::string label;
  std::string unit;   ///< SI
  double high = 0.0;  ///< largest magnitude of all curves, in SI
};

struct Picture {
  std::string name;  ///< of the file, without extension
  Axis x, y;
  bool over_time = true;
  std::vector<Curve> curves;
};

/// A plotted run.
struct DrawnRun {
  std::string label;
  fs::path folder;
  TimeSeries series;
  std::optional<TimeWindow> contact;  ///< the requested one; none = all contacts
};

/// A literal gnuplot string: single quotes disable commands and escapes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\n') continue;
    result += c;
    if (c == '\'') result += c;
  }
  return result + "'";
}

/// Maximum minus minimum of a column.
double range_of(const TimeSeries& series, std::size_t column) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t at = column; at < series.values.size(); at += series.columns.size()) {
    low = std::min(low, series.values[at]);
    high = std::max(high, series.values[at]);
  }
  return high > low ? high - low : 0.0;
}

/// Largest magnitude of a column.
double largest_of(const TimeSeries& series, std::size_t column) {
  double high = 0.0;
  for (std::size_t at = column; at < series.values.size(); at += series.columns.size()) {
    if (std::abs(series.values[at]) > high) high = std::abs(series.values[at]);
  }
  return high;
}

constexpr const char* requested[] = {"force",         "indentation", "gap",          "energy",
                                     "peak_pressure", "area",        "region_force", "region_peak_pressure"};

/// Key of the picture of a column; empty = none.
std::string picture_of(const ColumnName& name) {
  if (std::ranges::find(requested, name.quantity) == std::end(requested)) return {};
  return name.quantity == "energy" ? "energy" : fmt::format("{}_{}", name.quantity, name.owner);
}

/// Resultant force of a pair over its indentation, for the rows within the window.
Curve loop_curve(const DrawnRun& run, std::size_t indentation, const std::string& pair, const std::string& title) {
  const auto column = [&](const char* axis) {
    const auto found = std::ranges::find(run.series.columns, fmt::format("{}.f{}_N", pair, axis));
    return found - run.series.columns.begin() + 1;
  };
  const std::string force = fmt::format("sqrt(${}**2 + ${}**2 + ${}**2)", column("x"), column("y"), column("z"));
  const std::string x = fmt::format("${}", indentation + 1);
  return {
      .file = run.folder / "timeseries.csv",
      .x = run.contact ? fmt::format("($1 >= {} && $1 <= {} ? {} : NaN)", (*run.contact)[0], (*run.contact)[1], x) : x,
      .y = force,
      .title = title};
}

/// Adds the curves of a run to existing pictures, or appends new pictures.
class PictureMaker {
 public:
  explicit PictureMaker(bool several_runs) : several_runs_(several_runs) {}

  void add(const DrawnRun& run) {
    const auto& columns = run.series.columns;
    const std::vector<ColumnName> names = read_column_names(columns);
    for (std::size_t c = 1; c < columns.size(); ++c) {
      const ColumnName& name = names[c];
      const std::string key = picture_of(name);
      if (key.empty() || range_of(run.series, c) == 0.0 || !is_displayed(run, names, c, key)) continue;
      std::string label = name.quantity;
      std::ranges::replace(label, '_', ' ');
      const std::string component = several_runs_ && name.short_name != name.quantity ? ", " + name.short_name : "";
      add_curve(picture(key, {.label = "time", .unit = "s"}, {.label = label + component, .unit = name.unit}, true),
                {.file = run.folder / "timeseries.csv",
                 .x = "$1",
                 .y = fmt::format("${}", c + 1),
                 .title = several_runs_ ? run.label : name.short_name},
                1.0, largest_of(run.series, c));
    }
    for (std::size_t c = 1; c + 4 < columns.size(); ++c) {
      constexpr std::string_view ending = ".indentation_m";
      if (!columns[c].ends_with(ending) || range_of(run.series, c) == 0.0) continue;
      const std::string pair = columns[c].substr(0, columns[c].size() - ending.size());
      add_curve(picture("loop_" + pair, {.label = "indentation", .unit = "m"}, {.label = "contact force", .unit = "N"},
                        false),
                loop_curve(run, c, pair, several_runs_ ? run.label : pair), largest_of(run.series, c),
                largest_force(run.series, pair));
    }
  }

  [[nodiscard]] const std::vector<Picture>& pictures() const { return pictures_; }

 private:
  static void add_curve(Picture& picture, Curve curve, double x_high, double y_high) {
    picture.x.high = std::max(picture.x.high, x_high);
    picture.y.high = std::max(picture.y.high, y_high);
    picture.curves.push_back(std::move(curve));
  }

  /// Of the largest component: sufficient for a unit.
  static double largest_force(const TimeSeries& series, const std::string& pair) {
    double high = 0.0;
    for (std::size_t c = 0; c < series.columns.size(); ++c) {
      const ColumnName name = read_column_name(series.columns[c]);
      if (name.owner == pair && name.quantity == "force") high = std::max(high, largest_of(series, c));
    }
    return high;
  }

  /// For several runs, only the component with the largest range in the first run is shown.
  bool is_displayed(const DrawnRun& run, const std::vector<ColumnName>& names, std::size_t column,
                    const std::string& key) {
    if (!several_runs_) return true;
    const auto [entry, is_new] = component_.try_emplace(key);
    if (is_new) {
      double largest = 0.0;
      for (std::size_t c = 1; c < run.series.columns.size(); ++c) {
        if (picture_of(names[c]) != key || range_of(run.series, c) <= largest) continue;
        largest = range_of(run.series, c);
        entry->second = run.series.columns[c];
      }
    }
    return run.series.columns[column] == entry->second;
  }

  Picture& picture(const std::string& key, const Axis& x, const Axis& y, bool over_time) {
    const auto [entry, is_new] = place_.try_emplace(key, pictures_.size());
    if (is_new) {
      pictures_.push_back({.name = plain_name(key), .x = x, .y = y, .over_time = over_time, .curves = {}});
    }
    return pictures_[entry->second];
  }

  bool several_runs_;
  std::vector<Picture> pictures_;
  std::map<std::string, std::size_t> place_;
  std::map<std::string, std::string> component_;
};

/// Colours of Okabe and Ito (2008), safe for colour-blind readers.
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

const char* ending_of(PictureFormat format) {
  switch (format) {
    case PictureFormat::png:
      return ".png";
    case PictureFormat::svg:
      return ".svg";
    case PictureFormat::pdf:
      break;
  }
  return ".pdf";
}

std::string terminal_of(const PictureStyle& style) {
  switch (style.format) {
    case PictureFormat::png:
      // pngcairo assumes 96 dots per inch; the scale preserves the stated print size of letters and lines.
      return fmt::format(
          "set terminal pngcairo noenhanced size {:.0f},{:.0f} font 'Sans,{:g}' fontscale {:g} linewidth {:g}\n",
          style.width_cm / cm_per_inch * dots_per_inch, style.height_cm / cm_per_inch * dots_per_inch,
          style.font_points, dots_per_inch / screen_dots, dots_per_inch / screen_dots);
    case PictureFormat::svg:
      return fmt::format("set terminal svg noenhanced size {:.0f},{:.0f} font 'sans-serif,{:g}' linewidth 1.2\n",
                         style.width_cm / cm_per_inch * points_per_inch,
                         style.height_cm / cm_per_inch * points_per_inch, style.font_points);
    case PictureFormat::pdf:
      break;
  }
  return fmt::format("set terminal pdfcairo noenhanced size {:g}cm,{:g}cm font 'Sans,{:g}' linewidth 1.2\n",
                     style.width_cm, style.height_cm, style.font_points);
}

/// Suffix of the names of pictures of one contact.
std::string contact_ending(const PictureStyle& style) {
  return style.contact ? fmt::format("_contact{}", *style.contact) : "";
}

std::string script_of(const std::vector<Picture>& pictures, const fs::path& folder,
                      const std::optional<TimeWindow>& window, const PageUnits& units, const PictureStyle& style) {
  std::string script =
      "set encoding utf8\nset datafile separator ','\nset grid lc rgb '#d9dee4'\nset border 3\nset tics nomirror\nset "
      "key noenhanced outside top horizontal\n";
  script += terminal_of(style);
  for (const Picture& picture : pictures) {
    const std::string name = picture.name + contact_ending(style) + ending_of(style.format);
    const DisplayUnit x = picture.over_time ? DisplayUnit{.name = "s"} : units.of(picture.x.unit, picture.x.high);
    const DisplayUnit y = units.of(picture.y.unit, picture.y.high);
    script +=
        fmt::format("set output {}\nset xlabel {}\nset ylabel {}\n", quoted((folder / "pictures" / name).string()),
                    quoted(with_unit(picture.x.label, x.name)), quoted(with_unit(picture.y.label, y.name)));
    script += picture.over_time && window ? fmt::format("set xrange [{}:{}]\n", (*window)[0], (*window)[1])
                                          : std::string("set autoscale x\n");
    script += "plot ";
    for (std::size_t k = 0; k < picture.curves.size(); ++k) {
      const Curve& curve = picture.curves[k];
      script += fmt::format("{}{} skip 1 using ({} * {}):({} * {}) with lines lc rgb '{}' dt {} title {}",
                            k == 0 ? "" : ", ", quoted(curve.file.string()), x.factor, curve.x, y.factor, curve.y,
                            colours[k % std::size(colours)], 1 + k / std::size(colours) % 5, quoted(curve.title));
    }
    script += "\nset output\n";
  }
  return script;
}

constexpr std::size_t map_cells = 300;

/// Cells and path of a foot print as text for gnuplot, in mm and the unit of pressure: blocks of "u v pressure", then
/// the path.
std::string map_data(const FootPrint& print, const PlanView& view, const DisplayUnit& unit) {
  std::string text =
      fmt::format("# {} [mm]  {} [mm]  peak pressure [{}]\n", "xyz"[view.axes[0]], "xyz"[view.axes[1]], unit.name);
  for (std::size_t v = 0; v < view.n[1]; ++v) {
    for (std::size_t u = 0; u < view.n[0]; ++u) {
      const double value = unit.factor * view.values[v * view.n[0] + u];
      text += fmt::format("{:.6g} {:.6g} ", 1e3 * (view.origin[0] + view.cell * static_cast<double>(u)),
                          1e3 * (view.origin[1] + view.cell * static_cast<double>(v)));
      text += std::isnan(value) ? "NaN\n" : fmt::format("{:.6g}\n", value);
    }
  }
  text += "\n\n";
  for (std::size_t i = 0; i < print.path.points.size(); ++i) {
    const Vector3& p = print.path.points[i];
    if (i > 0 && print.path.contacts[i] != print.path.contacts[i - 1]) text += "\n";  // lifts the pen
    text += fmt::format("{:.6g} {:.6g}\n", 1e3 * p[view.axes[0]], 1e3 * p[view.axes[1]]);
  }
  return text + "\n";
}

/// Peak pressure over the run with the path of the centre of pressure. gnuplot reserves no space for the label of the
/// scale beside a map with equal axes: nine characters, six of them for the numbers.
/// @param high  [Pa] upper end of the common scale of all maps of the run
std::string map_script(const FootPrint& print, const PlanView& view, double high, const DisplayUnit& unit,
                       const std::string& data, const std::string& picture) {
  std::string text = fmt::format(
      "reset session\nset encoding utf8\nset output {}\nset border 3\nset tics nomirror out\nset key noenhanced "
      "outside "
      "top horizontal\nset size ratio -1\nset xlabel '{} of the body [mm]'\nset ylabel '{} of the body [mm]'\nset "
      "cblabel "
      "'pressure [{}]'\nset rmargin 9\nset cbtics autofreq\nset autoscale xfix\nset autoscale yfix\nset cbrange "
      "[0:{:.6g}]\nset "
      "palette "
      "defined (",
      quoted(picture), "xyz"[view.axes[0]], "xyz"[view.axes[1]], unit.name, unit.factor * high);
  // Viridis (Smith and van der Walt 2015), as in the pages.
  constexpr const char* viridis[] = {"#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c",
                                     "#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"};
  // Grey for zero load: a narrow band below the lowest colour.
  text += "0 '#bec4ca', 0.03 '#bec4ca'";
  for (std::size_t k = 0; k < std::size(viridis); ++k)
    text += fmt::format(", {} '{}'", k == 0 ? 0.03 : static_cast<double>(k), viridis[k]);
  text += fmt::format(")\nplot {} index 0 using 1:2:3 with image notitle", quoted(data));
  if (!print.path.points.empty()) {
    text += fmt::format(
        ", {0} index 1 with lines lc rgb 'white' lw 3 notitle, {0} index 1 with lines lc rgb '#d55e00' lw "
        "1.5 title 'centre of pressure'",
        quoted(data));
  }
  return text + "\nset output\n";
}

}  // namespace

fs::path gnuplot_program() {
  try {
    return sibling_program("gnuplot");
  } catch (const Error&) {
    throw file_error("gnuplot", "pictures require gnuplot, which is not installed: apt-get install gnuplot-nox");
  }
}

namespace {

/// The contact selected by the style, with a margin.
std::optional<TimeWindow> contact_of(const fs::path& folder, const PictureStyle& style) {
  if (!style.contact) return std::nullopt;
  const RunSummary summary = read_summary(folder);
  if (*style.contact == 0 || *style.contact > summary.contacts.size()) {
    throw input_error("--contact", fmt::format("expected a contact of the run, 1 to {}, found {}",
                                               summary.contacts.size(), *style.contact));
  }
  const ContactEpisode& contact = summary.contacts[*style.contact - 1];
  const double end = contact.end.value_or(summary.simulated_time);
  const double margin = 0.3 * (end - contact.onset);
  return TimeWindow{contact.onset - margin, end + margin};
}

void make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    throw file_error(folder.string(), fmt::format("cannot create {}: {}", folder.string(), failure.message()));
}

void run_gnuplot(const fs::path& folder, const std::string& text) {
  const fs::path script = folder / "pictures.gp";
  write_whole_file(script, text);
  const fs::path log = folder / "gnuplot.log";
  ChildProcess child({.name = "gnuplot",
                      .program = gnuplot_program(),
                      .arguments = {"--default-settings", script.string()},
                      .log = log});
  const auto end = child.ended(drawing_time);
  if (!end || !end->success()) {
    throw file_error(script.string(), fmt::format("gnuplot could not draw {}: {}; see {}", script.string(),
                                                  end ? end->text() : "timeout", log.string()));
  }
  std::error_code ignored;
  fs::remove(log, ignored);
}

DrawnRun drawn_run(const RunData& run, const fs::path& folder, const PictureStyle& style) {
  return {.label = run.label, .folder = folder, .series = run.series, .contact = contact_of(folder, style)};
}

/// Common window of the charts over time; none = the whole run.
std::optional<TimeWindow> window_of(std::span<const RunData> runs, std::span<const DrawnRun> drawn,
                                    const PictureStyle& style) {
  if (!style.contact) return style.whole_run ? std::nullopt : contact_windows(runs).first;
  std::optional<TimeWindow> window;
  for (const DrawnRun& run : drawn) {
    if (!run.contact) continue;
    window = window ? TimeWindow{std::min((*window)[0], (*run.contact)[0]), std::max((*window)[1], (*run.contact)[1])}
                    : *run.contact;
  }
  return window;
}

std::vector<fs::path> picture_files(const PictureMaker& maker, const fs::path& given, const PictureStyle& style) {
  std::vector<fs::path> files;
  for (const Picture& picture : maker.pictures()) {
    files.push_back(given / "pictures" / (picture.name + contact_ending(style) + ending_of(style.format)));
  }
  return files;
}

}  // namespace

std::vector<fs::path> write_pictures(const fs::path& given, const PictureStyle& style, const Catalog& catalog) {
  const fs::path folder = fs::absolute(given);
  RunData data = read_run_data(folder, "", "", catalog);
  // Maps show peak pressures of the whole run.
  if (!style.contact) data.prints = foot_prints(folder, data.series, data.model);
  const std::span<const RunData> runs(&data, 1);
  const DrawnRun run = drawn_run(data, folder, style);
  const PageUnits units = units_of(runs);
  PictureMaker maker(false);
  maker.add(run);
  make_folder(folder / "pictures");
  std::string text = script_of(maker.pictures(), folder, window_of(runs, std::span(&run, 1), style), units, style);
  const std::string ending = ending_of(style.format);
  std::vector<fs::path> files = picture_files(maker, given, style);
  const double high = find_peak_pressure(data.prints);
  const DisplayUnit unit = units.of("Pa", high);
  for (const FootPrint& print : data.prints) {
    if (!(print.map.peak_pressure() > 0.0)) continue;
    const std::string name =
        plain_name(fmt::format("pressure_map_{}_{}", print.parts.front().pair, print.parts.front().body));
    const PlanView view = print.map.view(print.map.peak(), map_cells);
    const fs::path cells = folder / "pictures" / (name + ".dat");
    write_whole_file(cells, map_data(print, view, unit));
    text += map_script(print, view, high, unit, cells.string(), (folder / "pictures" / (name + ending)).string());
    files.push_back(given / "pictures" / (name + ending));
  }
  run_gnuplot(folder / "pictures", text);
  return files;
}

std::vector<fs::path> write_comparison_pictures(const fs::path& given, const PictureStyle& style,
                                                const Catalog& catalog) {
  const fs::path folder = fs::absolute(given);
  const Json comparison = Json::parse(read_whole_file(folder / "comparison.json"));
  PictureMaker maker(true);
  std::vector<RunData> runs;
  std::vector<DrawnRun> drawn;
  for (const Json& row : comparison.at("rows")) {
    const std::string name = row.at("folder");
    if (name.empty() || !fs::exists(folder / name / "timeseries.csv")) continue;
    runs.push_back(read_run_data(folder / name, row.at("backend"), name, catalog));
    drawn.push_back(drawn_run(runs.back(), folder / name, style));
    maker.add(drawn.back());
  }
  make_folder(folder / "pictures");
  run_gnuplot(folder / "pictures",
              script_of(maker.pictures(), folder, window_of(runs, drawn, style), units_of(runs), style));
  return picture_files(maker, given, style);
}

}  // namespace heelstrike::report
