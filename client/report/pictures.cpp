#include "client/report/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <system_error>

#include "client/report/columns.hpp"
#include "client/report/foot_prints.hpp"
#include "client/servers/child_process.hpp"
#include "common/errors/error.hpp"
#include "common/results/output_file.hpp"
#include "common/results/plain_name.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike::client::report {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds drawing_time{120};
constexpr double dots_per_inch = 300.0;
constexpr double cm_per_inch = 2.54;
constexpr double points_per_inch = 72.0;
constexpr double screen_dots = 96.0;

struct Curve {
  std::string using_columns;  ///< as gnuplot writes them: "1:5"
  std::string title;
};

struct Picture {
  std::string name;  ///< of the file, without ending
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;
};

/// A string for gnuplot that it takes as it is: single quotes know neither commands nor escapes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\n') continue;
    result += c;
    if (c == '\'') result += c;
  }
  return result + "'";
}

bool varies(const TimeSeries& series, std::size_t column) {
  for (std::size_t at = column; at < series.values.size(); at += series.columns.size()) {
    if (series.values[at] != series.values[column]) return true;
  }
  return false;
}

std::vector<Picture> pictures_of(const TimeSeries& series) {
  constexpr const char* wanted[] = {"force", "indentation", "gap", "energy", "peak_pressure", "area"};
  std::vector<Picture> pictures;
  std::map<std::string, std::size_t> place;
  for (std::size_t c = 1; c < series.columns.size(); ++c) {
    const ColumnName name = read_column_name(series.columns[c]);
    if (std::find(std::begin(wanted), std::end(wanted), name.quantity) == std::end(wanted) || !varies(series, c))
      continue;
    const std::string key = name.quantity == "energy" ? "energy" : fmt::format("{}_{}", name.quantity, name.owner);
    const auto [entry, is_new] = place.try_emplace(key, pictures.size());
    if (is_new) {
      std::string label = name.quantity;
      std::replace(label.begin(), label.end(), '_', ' ');
      pictures.push_back({plain_name(key), "time [s]", fmt::format("{} [{}]", label, name.unit), {}});
    }
    pictures[entry->second].curves.push_back({fmt::format("1:{}", c + 1), name.short_name});
  }
  for (std::size_t c = 1; c + 4 < series.columns.size(); ++c) {
    const std::string& name = series.columns[c];
    constexpr std::string_view ending = ".indentation_m";
    if (!name.ends_with(ending) || !varies(series, c)) continue;
    const std::string pair = name.substr(0, name.size() - ending.size());
    const auto column = [&](const char* axis) {
      const auto found = std::find(series.columns.begin(), series.columns.end(), fmt::format("{}.f{}_N", pair, axis));
      return found - series.columns.begin() + 1;
    };
    const std::string force = fmt::format("(sqrt(${}**2 + ${}**2 + ${}**2))", column("x"), column("y"), column("z"));
    pictures.push_back({plain_name("loop_" + pair),
                        "indentation [mm]",
                        "contact force [N]",
                        {{fmt::format("(1e3 * ${}):{}", c + 1, force), pair}}});
  }
  return pictures;
}

/// Colours of Okabe and Ito (2008), safe for colour-blind readers.
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

std::string terminal_of(const PictureStyle& style) {
  if (style.format == PictureFormat::png) {
    // pngcairo draws for 96 dots per inch; the scale keeps letters and lines as large as stated on paper.
    return fmt::format(
        "set terminal pngcairo noenhanced size {:.0f},{:.0f} font 'Sans,{:g}' fontscale {:g} linewidth {:g}\n",
        style.width_cm / cm_per_inch * dots_per_inch, style.height_cm / cm_per_inch * dots_per_inch, style.font_points,
        dots_per_inch / screen_dots, dots_per_inch / screen_dots);
  }
  return fmt::format("set terminal svg noenhanced size {:.0f},{:.0f} font 'sans-serif,{:g}' linewidth 1.2\n",
                     style.width_cm / cm_per_inch * points_per_inch, style.height_cm / cm_per_inch * points_per_inch,
                     style.font_points);
}

std::string script_of(const std::vector<Picture>& pictures, const fs::path& folder, const PictureStyle& style) {
  std::string script =
      "set encoding utf8\nset datafile separator ','\nset grid lc rgb '#d9dee4'\nset border 3\nset tics nomirror\nset "
      "key noenhanced outside top horizontal\n";
  script += terminal_of(style);
  const char* ending = style.format == PictureFormat::png ? "png" : "svg";
  for (const Picture& picture : pictures) {
    script += fmt::format("set output {}\nset xlabel {}\nset ylabel {}\nplot ",
                          quoted((folder / "pictures" / (picture.name + "." + ending)).string()),
                          quoted(picture.x_label), quoted(picture.y_label));
    for (std::size_t k = 0; k < picture.curves.size(); ++k) {
      script += fmt::format("{}{} skip 1 using {} with lines lc rgb '{}' title {}", k == 0 ? "" : ", ",
                            quoted((folder / "timeseries.csv").string()), picture.curves[k].using_columns,
                            colours[k % std::size(colours)], quoted(picture.curves[k].title));
    }
    script += "\nset output\n";
  }
  return script;
}

constexpr std::size_t map_cells = 300;

/// Cells and path of a foot print as text for gnuplot, in mm and kPa: blocks of "u v pressure", then the path.
std::string map_data(const FootPrint& print, const PlanView& view) {
  std::string text =
      fmt::format("# {} [mm]  {} [mm]  largest pressure [kPa]\n", "xyz"[view.axes[0]], "xyz"[view.axes[1]]);
  for (std::size_t v = 0; v < view.n[1]; ++v) {
    for (std::size_t u = 0; u < view.n[0]; ++u) {
      const double value = 1e-3 * view.values[v * view.n[0] + u];
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

/// Largest pressure over the run with the path of the centre of pressure.
std::string map_script(const FootPrint& print, const PlanView& view, const std::string& data,
                       const std::string& picture) {
  std::string text = fmt::format(
      "reset session\nset encoding utf8\nset output {}\nset border 3\nset tics nomirror out\nset key noenhanced "
      "outside "
      "top horizontal\nset size ratio -1\nset xlabel '{} of the body [mm]'\nset ylabel '{} [mm]'\nset cblabel "
      "'pressure "
      "[kPa]' offset 0.4,0\nset cbtics autofreq\nset autoscale xfix\nset autoscale yfix\nset cbrange [0:*]\nset "
      "palette "
      "defined (",
      quoted(picture), "xyz"[view.axes[0]], "xyz"[view.axes[1]]);
  // Viridis (Smith and van der Walt 2015), as in the pages.
  constexpr const char* viridis[] = {"#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c",
                                     "#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"};
  for (std::size_t k = 0; k < std::size(viridis); ++k)
    text += fmt::format("{}{} '{}'", k == 0 ? "" : ", ", k, viridis[k]);
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
    throw file_error("gnuplot",
                     "gnuplot is not installed, and pictures are drawn with it: apt-get install gnuplot-nox");
  }
}

std::vector<fs::path> write_pictures(const fs::path& run, const PictureStyle& style) {
  const fs::path folder = fs::absolute(run);
  const TimeSeries series = read_timeseries(folder);
  const std::vector<Picture> pictures = pictures_of(series);
  std::error_code failure;
  fs::create_directories(folder / "pictures", failure);
  if (failure)
    throw file_error(folder.string(),
                     fmt::format("{}/pictures cannot be made: {}", folder.string(), failure.message()));
  const fs::path script = folder / "pictures" / "pictures.gp";
  const std::string ending = style.format == PictureFormat::png ? ".png" : ".svg";
  std::string text = script_of(pictures, folder, style);
  std::vector<std::string> maps;
  for (const FootPrint& print : foot_prints(folder, series)) {
    if (!(print.map.largest() > 0.0)) continue;
    maps.push_back(plain_name(fmt::format("pressure_map_{}_{}", print.pair, print.body)));
    const PlanView view = print.map.view(print.map.peak(), map_cells);
    const fs::path data = folder / "pictures" / (maps.back() + ".dat");
    write_whole_file(data, map_data(print, view));
    text += map_script(print, view, data.string(), (folder / "pictures" / (maps.back() + ending)).string());
  }
  write_whole_file(script, text);
  const fs::path log = folder / "pictures" / "gnuplot.log";
  ChildProcess child({.name = "gnuplot",
                      .program = gnuplot_program(),
                      .arguments = {"--default-settings", script.string()},
                      .log = log});
  const auto end = child.ended(drawing_time);
  if (!end || *end != "exit code 0") {
    throw file_error(script.string(), fmt::format("gnuplot could not draw {}: {}; see {}", script.string(),
                                                  end.value_or("it did not end in time"), log.string()));
  }
  fs::remove(log, failure);
  std::vector<fs::path> files;
  for (const Picture& picture : pictures) {
    files.push_back(run / "pictures" / (picture.name + ending));
  }
  for (const std::string& name : maps) files.push_back(run / "pictures" / (name + ending));
  return files;
}

}  // namespace heelstrike::client::report
