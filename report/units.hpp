/// Units as shown in pages and figures. Data stay in SI units; web/src/units.json is the only table, also for the
/// scripts: for each SI unit the display units [name, factor, smallest magnitude], largest first.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/html.hpp"
#include "report/packing.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::report {

struct DisplayUnit {
  std::string name;
  double factor = 1.0;  ///< display value = factor * SI value
};

/// @param si    unit as in ColumnName::unit; one without an entry is shown as it is
/// @param high  largest magnitude shown with the unit, in SI; zero = the SI unit
[[nodiscard]] DisplayUnit display_unit(const std::string& si, double high);

/// Significant digits without an exponent from 0.001 to a million, "-" for NaN.
[[nodiscard]] std::string shown(double value, int digits = 4);

/// SI unit of a key of a scenario as options name it, e.g. "contact.stiffness" or "bodies.ball.mass"; empty without
/// one.
[[nodiscard]] std::string unit_of_key(const std::string& key, const Catalog& catalog);

/// "peak force [N]"; without brackets for an empty unit and "-".
[[nodiscard]] std::string with_unit(const std::string& text, const std::string& unit);

/// Display units of one page. Quantities with a common unit (pressure, area) have it in every chart, table and map.
class PageUnits {
 public:
  /// Takes a value of the page into account. @param si  unit common to the page. @param value  in SI
  void add(const std::string& si, double value);
  [[nodiscard]] DisplayUnit of(const std::string& si, double high) const;
  /// {unit: largest value in SI} for the scripts.
  [[nodiscard]] Json json() const { return highs_; }

  /// Column of numbers with its unit in the heading. @param si  may be empty
  [[nodiscard]] TableColumn column(const std::string& heading, const std::string& si,
                                   const std::vector<std::optional<double>>& values, int digits = 4) const;

 private:
  std::map<std::string, double> highs_;
};

}  // namespace heelstrike::report
