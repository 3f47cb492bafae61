#include "client/report/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>

#include "client/report/columns.hpp"
#include "client/servers/child_process.hpp"
#include "common/errors/error.hpp"
#include "common/results/output_file.hpp"
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

std::string file_name(std::string text) {
  for (char& c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  return text;
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
      pictures.push_back({file_name(key), "time [s]", fmt::format("{} [{}]", label, name.unit), {}});
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
    pictures.push_back({file_name("loop_" + pair),
                        "indentation [m]",
                        "contact force [N]",
                        {{fmt::format("{}:{}", c + 1, force), pair}}});
  }
  return pictures;
}

/// Colours of Okabe and Ito (2008), safe for colour-blind readers.
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

std::string script_of(const std::vector<Picture>& pictures, const fs::path& folder, const PictureStyle& style) {
  std::string script =
      "set encoding utf8\nset datafile separator ','\nset grid lc rgb '#d9dee4'\nset border 3\nset tics nomirror\nset "
      "key noenhanced outside top horizontal\n";
  if (style.format == PictureFormat::png) {
    // pngcairo draws for 96 dots per inch; the scale keeps letters and lines as large as stated on paper.
    script += fmt::format(
        "set terminal pngcairo noenhanced size {:.0f},{:.0f} font 'Sans,{:g}' fontscale {:g} linewidth {:g}\n",
        style.width_cm / cm_per_inch * dots_per_inch, style.height_cm / cm_per_inch * dots_per_inch, style.font_points,
        dots_per_inch / screen_dots, dots_per_inch / screen_dots);
  } else {
    script += fmt::format("set terminal svg noenhanced size {:.0f},{:.0f} font 'sans-serif,{:g}' linewidth 1.2\n",
                          style.width_cm / cm_per_inch * points_per_inch,
                          style.height_cm / cm_per_inch * points_per_inch, style.font_points);
  }
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

fs::path gnuplot() {
  try {
    return sibling_program("gnuplot");
  } catch (const Error&) {
    throw file_error("gnuplot",
                     "gnuplot is not installed, and pictures are drawn with it: apt-get install gnuplot-nox");
  }
}

}  // namespace

std::vector<fs::path> write_pictures(const fs::path& run, const PictureStyle& style) {
  const fs::path folder = fs::absolute(run);
  const std::vector<Picture> pictures = pictures_of(read_timeseries(folder));
  std::error_code failure;
  fs::create_directories(folder / "pictures", failure);
  if (failure)
    throw file_error(folder.string(),
                     fmt::format("{}/pictures cannot be made: {}", folder.string(), failure.message()));
  const fs::path script = folder / "pictures" / "pictures.gp";
  write_whole_file(script, script_of(pictures, folder, style));
  const fs::path log = folder / "pictures" / "gnuplot.log";
  ChildProcess child(
      {.name = "gnuplot", .program = gnuplot(), .arguments = {"--default-settings", script.string()}, .log = log});
  const auto end = child.ended(drawing_time);
  if (!end || *end != "exit code 0") {
    throw file_error(script.string(), fmt::format("gnuplot could not draw {}: {}; see {}", script.string(),
                                                  end.value_or("it did not end in time"), log.string()));
  }
  fs::remove(log, failure);
  std::vector<fs::path> files;
  for (const Picture& picture : pictures) {
    files.push_back(run / "pictures" / (picture.name + (style.format == PictureFormat::png ? ".png" : ".svg")));
  }
  return files;
}

}  // namespace heelstrike::client::report
