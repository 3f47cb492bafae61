#include "report/grf_report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "report/html.hpp"
#include "report/page.hpp"

namespace heelstrike::report {

namespace {

namespace fs = std::filesystem;

constexpr double panel_width = 480.0;
constexpr double panel_height = 210.0;
constexpr double plan_height = 260.0;
constexpr double narrow_width = 360.0;  // of the page on a telephone
constexpr double left = 56.0, right = 10.0, top = 26.0, bottom = 34.0;
constexpr const char* predicted_colour = "#0072b2";  // Okabe and Ito
constexpr const char* prescribed_colour = "#8a8f98";

struct Point {
  double x = 0.0, y = 0.0;
};

/// Order of the panels and charts: anterior-posterior, mediolateral, vertical.
std::array<int, 3> axes_in_order(const StanceFigure& figure) {
  std::array<int, 3> order = {0, 1, 2};
  std::ranges::sort(order, {}, [&](int axis) { return figure.directions[static_cast<std::size_t>(axis)]; });
  return order;
}

/// "vx": the name of a component in the files.
std::string component_name(int axis) {
  return std::string("v") + "xyz"[axis];
}

std::string titled(const StanceFigure& figure, int axis) {
  return fmt::format("{} ({})", figure.directions[static_cast<std::size_t>(axis)], component_name(axis));
}

bool is_prescribed(const StanceFigure& figure, const std::string& component) {
  return std::ranges::find(figure.given, component) != figure.given.end();
}

/// [s] rows farther apart are not connected: the run has no solution between them.
double max_step(const StanceComparison& stance) {
  double usual = 0.0;
  for (std::size_t i = 1; i < stance.rows.size(); ++i) {
    const double h = stance.rows[i].time - stance.rows[i - 1].time;
    usual = i == 1 ? h : std::min(usual, h);
  }
  return 1.5 * usual;
}

/// Segments of a curve, separated by missing rows.
using Pieces = std::vector<std::vector<Point>>;

struct Range {
  double low = 0.0, high = 0.0;
  [[nodiscard]] double size() const { return high - low; }
};

/// Tick distance of 1, 2 or 5 times a power of ten with about `n` ticks per range.
double tick_distance(double range, double n) {
  const double raw = range / n;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10.0 * power;
}

Range range_of(const std::vector<const Pieces*>& curves, double Point::*coordinate, double least) {
  double low = 1e300, high = -1e300;
  for (const Pieces* pieces : curves) {
    for (const auto& piece : *pieces) {
      for (const Point& p : piece) {
        low = std::min(low, p.*coordinate);
        high = std::max(high, p.*coordinate);
      }
    }
  }
  if (low > high) return {-0.5 * least, 0.5 * least};
  const double missing = std::max(0.0, least - (high - low));
  return {low - 0.5 * missing, high + 0.5 * missing};
}

/// A panel of the figure with its scales.
struct Panel {
  double x0 = 0.0, y0 = 0.0, width = 0.0, height = 0.0;  ///< of the whole panel, axes included
  Range x, y;

  [[nodiscard]] double inner_width() const { return width - left - right; }
  [[nodiscard]] double inner_height() const { return height - top - bottom; }
  [[nodiscard]] double px(double value) const { return x0 + left + (value - x.low) / x.size() * inner_width(); }
  [[nodiscard]] double py(double value) const { return y0 + top + (y.high - value) / y.size() * inner_height(); }
};

std::string text_at(double x, double y, const std::string& anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

std::string axes(const Panel& p, const std::string& title, const std::string& x_label) {
  std::string svg = text_at(p.x0 + left, p.y0 + 16.0, "start", title);
  svg += text_at(p.x0 + left + 0.5 * p.inner_width(), p.y0 + p.height - 4.0, "middle", x_label);
  const auto line = [](double x1, double y1, double x2, double y2) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" "
        "stroke-opacity=\"0.18\"/>\n",
        x1, y1, x2, y2);
  };
  const double dx = tick_distance(p.x.size(), 6.0), dy = tick_distance(p.y.size(), 5.0);
  for (double v = std::ceil(p.x.low / dx) * dx; v <= p.x.high + 1e-9 * dx; v += dx) {
    svg += line(p.px(v), p.py(p.y.low), p.px(v), p.py(p.y.high));
    svg += text_at(p.px(v), p.y0 + p.height - bottom + 14.0, "middle", fmt::format("{:g}", std::round(v / dx) * dx));
  }
  for (double v = std::ceil(p.y.low / dy) * dy; v <= p.y.high + 1e-9 * dy; v += dy) {
    svg += line(p.px(p.x.low), p.py(v), p.px(p.x.high), p.py(v));
    svg += text_at(p.x0 + left - 5.0, p.py(v) + 4.0, "end", fmt::format("{:g}", std::round(v / dy) * dy));
  }
  return svg;
}

std::string drawn(const Panel& p, const Pieces& pieces, const std::string& style) {
  std::string svg;
  for (const auto& piece : pieces) {
    svg += "<polyline fill=\"none\" " + style + " points=\"";
    for (const Point& point : piece) svg += fmt::format("{:.1f},{:.1f} ", p.px(point.x), p.py(point.y));
    svg += "\"/>\n";
  }
  return svg;
}

class Drawing {
 public:
  explicit Drawing(const StanceFigure& figure)
      : figure_(figure), stance_(*figure.stance), max_step_(max_step(stance_)) {}

  [[nodiscard]] std::string svg() const {
    std::string content = legend();
    int place = 0;
    for (const int axis : axes_in_order(figure_)) {
      content += component(place++, component_name(axis), titled(figure_, axis) + " [N]",
                           [&](const StanceRow& row, int k) { return row.force[k][axis]; });
    }
    content += component(3, "moment", "free moment [N m]", [](const StanceRow& row, int k) { return row.moment[k]; });
    content += plan_view(legend_height + 2.0 * panel_height, 2.0 * panel_width);
    return file("", 2.0 * panel_width, legend_height + 2.0 * panel_height + plan_height, content);
  }

  [[nodiscard]] std::string plan_view_alone(const std::string& kind, double width) const {
    const std::string content = plan_view(legend_height, width);
    return content.empty() ? content : file(kind, width, legend_height + plan_height, legend(true) + content);
  }

 private:
  static constexpr double legend_height = 22.0;

  [[nodiscard]] static std::string file(const std::string& kind, double width, double height,
                                        const std::string& content) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"stance-figure {0}\" viewBox=\"0 0 {1} {2}\" width=\"{1}\" "
        "height=\"{2}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"currentColor\" role=\"img\">\n{3}</svg>\n",
        kind, width, height, content);
  }

  [[nodiscard]] static std::string style_of(bool given) {
    return given ? fmt::format("stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"5 4\"", prescribed_colour)
                 : fmt::format("stroke=\"{}\" stroke-width=\"2\"", predicted_colour);
  }

  static constexpr const char* measured_style = "stroke=\"currentColor\" stroke-width=\"1.2\"";

  /// @param of_plan  without prescribed components, which are forces
  [[nodiscard]] std::string legend(bool of_plan = false) const {
    std::string svg;
    double x = left;
    const auto entry = [&](const std::string& style, const std::string& name) {
      svg += fmt::format("<line x1=\"{:.0f}\" y1=\"10\" x2=\"{:.0f}\" y2=\"10\" {}/>\n", x, x + 24.0, style);
      svg += text_at(x + 30.0, 14.0, "start", name);
      x += 46.0 + 6.5 * static_cast<double>(name.size());
    };
    entry(measured_style, "measured");
    entry(style_of(false), "predicted");
    if (!of_plan && !figure_.given.empty()) entry(style_of(true), "prescribed in the run, not predicted");
    return svg;
  }

  /// Split at missing rows, and where `point` returns none.
  template <typename PointOf>
  [[nodiscard]] Pieces pieces(const PointOf& point) const {
    Pieces result;
    double last = -1e300;
    for (std::size_t i = 0; i < stance_.rows.size(); ++i) {
      const std::optional<Point> p = point(i);
      if (!p) continue;
      if (stance_.rows[i].time - last > max_step_) result.emplace_back();
      result.back().push_back(*p);
      last = stance_.rows[i].time;
    }
    return result;
  }

  [[nodiscard]] std::string component(int place, const std::string& name, const std::string& title,
                                      const std::function<double(const StanceRow&, int)>& value) const {
    Pieces curves[2];
    for (int k = 0; k < 2; ++k) {
      curves[k] = pieces([&](std::size_t i) {
        return std::optional<Point>({100.0 * stance_.rows[i].share, value(stance_.rows[i], k)});
      });
    }
    const bool given = is_prescribed(figure_, name);
    const Panel panel{.x0 = panel_width * (place % 2),
                      .y0 = legend_height + panel_height * (place / 2),
                      .width = panel_width,
                      .height = panel_height,
                      .x = {0.0, 100.0},
                      .y = range_of({&curves[0], &curves[1]}, &Point::y, 1e-3)};
    return axes(panel, title + (given ? ": prescribed" : ""), "% of stance") +
           drawn(panel, curves[1], style_of(given)) + drawn(panel, curves[0], measured_style);
  }

  /// Equal scales, the longer axis horizontal; [mm] from the first measured centre.
  [[nodiscard]] std::string plan_view(double y0, double width) const {
    Eigen::Index vertical = 0;
    figure_.up.cwiseAbs().maxCoeff(&vertical);
    Eigen::Index along = (vertical + 1) % 3, across = (vertical + 2) % 3;
    const auto centers = [&](int k) {
      return pieces([&](std::size_t i) -> std::optional<Point> {
        if (!stance_.rows[i].center[k]) return std::nullopt;
        Vector3 p = *stance_.rows[i].center[k];
        if (!figure_.ground_moved.empty()) p -= figure_.ground_moved[i];
        return Point{1e3 * p[along], 1e3 * p[across]};
      });
    };
    Pieces curves[2] = {centers(0), centers(1)};
    if (range_of({&curves[0], &curves[1]}, &Point::y, 0.0).size() >
        range_of({&curves[0], &curves[1]}, &Point::x, 0.0).size()) {
      std::swap(along, across);
      for (int k = 0; k < 2; ++k) curves[k] = centers(k);
    }
    if (curves[0].empty() && curves[1].empty()) return {};
    const Point origin = curves[0].empty() ? curves[1][0][0] : curves[0][0][0];
    for (Pieces& pieces_of : curves) {
      for (auto& piece : pieces_of) {
        for (Point& p : piece) p = {p.x - origin.x, p.y - origin.y};
      }
    }
    Panel panel{.x0 = 0.0,
                .y0 = y0,
                .width = width,
                .height = plan_height,
                .x = range_of({&curves[0], &curves[1]}, &Point::x, 20.0),
                .y = range_of({&curves[0], &curves[1]}, &Point::y, 20.0)};
    // Equal scales: the range with the larger scale is extended.
    const double x_scale = panel.x.size() / panel.inner_width(), y_scale = panel.y.size() / panel.inner_height();
    Range& shorter = x_scale > y_scale ? panel.y : panel.x;
    const double more = 0.5 * shorter.size() * (std::max(x_scale, y_scale) / std::min(x_scale, y_scale) - 1.0);
    shorter = {shorter.low - more, shorter.high + more};
    const auto name = [&](Eigen::Index axis) { return figure_.directions[static_cast<std::size_t>(axis)]; };
    const std::string title = "centre of pressure [mm], equal scales";
    const std::string above = width < 2.0 * panel_width ? "" : fmt::format(", {} over {}", name(across), name(along));
    return axes(panel, title + above, fmt::format("{} ({}) [mm]", name(along), "xyz"[along])) +
           drawn(panel, curves[1], style_of(false)) + drawn(panel, curves[0], measured_style);
  }

  const StanceFigure& figure_;
  const StanceComparison& stance_;
  double max_step_;  ///< [s]
};

/// {label, share, components: [{name, key, unit, measured, run}]}, with NaN in gaps.
Json stance_json(const PageTable& table) {
  const StanceFigure& figure = table.figure;
  const std::vector<StanceRow>& rows = figure.stance->rows;
  const double step = max_step(*figure.stance);
  const auto column = [&](const std::function<double(const StanceRow&)>& value, bool is_abscissa) {
    std::vector<double> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0 && rows[i].time - rows[i - 1].time > step) {
        values.push_back(is_abscissa ? 0.5 * (rows[i].share + rows[i - 1].share) : std::nan(""));
      }
      values.push_back(value(rows[i]));
    }
    return packed(values);
  };
  Json json = {{"label", table.heading},
               {"share", column([](const StanceRow& row) { return row.share; }, true)},
               {"components", Json::array()}};
  const auto add = [&](const std::string& name, const std::string& key, const char* unit,
                       const std::function<double(const StanceRow&, int)>& value) {
    json["components"].push_back({{"name", name + (is_prescribed(figure, key) ? ": prescribed in the run" : "")},
                                  {"key", key},
                                  {"unit", unit},
                                  {"measured", column([&](const StanceRow& row) { return value(row, 0); }, false)},
                                  {"run", column([&](const StanceRow& row) { return value(row, 1); }, false)}});
  };
  for (const int axis : axes_in_order(figure)) {
    add(titled(figure, axis), component_name(axis), "N",
        [axis](const StanceRow& row, int k) { return row.force[k][axis]; });
  }
  add("free moment", "moment", "N m", [](const StanceRow& row, int k) { return row.moment[k]; });
  return json;
}

}  // namespace

std::string stance_svg(const StanceFigure& figure) {
  return Drawing(figure).svg();
}

std::string plan_view_svg(const StanceFigure& figure) {
  const Drawing drawing(figure);
  return drawing.plan_view_alone("wide-screen", 2.0 * panel_width) +
         drawing.plan_view_alone("narrow-screen", narrow_width);
}

fs::path write_grf_report(const fs::path& folder, const GrfPage& page) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    throw file_error(folder.string(), fmt::format("cannot create {}: {}", folder.string(), failure.message()));
  Json stances = Json::array();
  for (std::size_t i = 0; i < page.tables.size(); ++i) {
    write_whole_file(folder / fmt::format("stance_{}.svg", i + 1), stance_svg(page.tables[i].figure));
    stances.push_back(stance_json(page.tables[i]));
  }
  fs::path file = folder / "report.html";
  write_whole_file(file, measurement_page(page, stances));
  return file;
}

}  // namespace heelstrike::report
