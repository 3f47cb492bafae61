// Units and digits of numbers in pages.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "library/registries/catalog.hpp"
#include "report/units.hpp"

namespace heelstrike::report {
namespace {

TEST(DisplayUnits, SuitTheLargestValue) {
  const auto shown_as = [](const char* si, double value) {
    const DisplayUnit unit = display_unit(si, value);
    return shown(unit.factor * value) + " " + unit.name;
  };
  EXPECT_EQ(shown_as("Pa", 3.1333e7), "31.33 MPa");
  EXPECT_EQ(shown_as("Pa", 71752.0), "71.75 kPa");
  EXPECT_EQ(shown_as("m", -0.0017352), "-1.735 mm");
  EXPECT_EQ(shown_as("m", 12.3456), "12.35 m");
  EXPECT_EQ(shown_as("m²", 5.4514e-4), "5.451 cm²");
  EXPECT_EQ(shown_as("s", 0.0013717), "1.372 ms");
  EXPECT_EQ(shown_as("N", 10631.6), "10630 N");
  EXPECT_EQ(shown_as("furlong", 5.0), "5 furlong");
  EXPECT_EQ(shown_as("Pa", 0.0), "0 Pa");
}

TEST(UnitOfAKey, IsThatOfTheScenario) {
  const Catalog catalog = scenario_catalog(schemas_of(embedded_backends()));
  EXPECT_EQ(unit_of_key("bodies.ball.mass", catalog), "kg");
  EXPECT_EQ(unit_of_key("contact.ball-ground.main.material.youngs_modulus", catalog), "Pa");
  EXPECT_EQ(unit_of_key("contact.dissipation", catalog), "s/m");
  EXPECT_EQ(unit_of_key("contact.restitution", catalog), "");
  EXPECT_EQ(unit_of_key("nothing", catalog), "");
}

TEST(Numbers, HaveFewDigitsAndNoExponentWithoutNeed) {
  EXPECT_EQ(shown(1234567.0), "1.235e+06");
  EXPECT_EQ(shown(123456.0), "123500");
  EXPECT_EQ(shown(0.5), "0.5");
  EXPECT_EQ(shown(2.1e-7), "2.1e-07");
  EXPECT_EQ(shown(std::nan("")), "-");
}

TEST(UnitsOfAPage, AreThoseOfTheLargestPressure) {
  PageUnits units;
  units.add("Pa", 2e6);
  units.add("Pa", std::numeric_limits<double>::quiet_NaN());
  const TableColumn column = units.column("mean pressure", "Pa", {5e4, std::nullopt});
  EXPECT_EQ(column.heading, "mean pressure [MPa]");
  EXPECT_EQ(column.cells, (std::vector<std::string>{"0.05", "-"}));
  EXPECT_EQ(units.column("indentation", "m", {2e-3}).heading, "indentation [mm]") << "lengths differ too much";
}

TEST(UnitsOfAPage, ShowRoundingAsZero) {
  EXPECT_EQ(PageUnits().column("indentation", "m", {2e-3, 6.7e-12}).cells, (std::vector<std::string>{"2", "0"}));
}

TEST(HtmlTable, OmitsColumnsWithoutValues) {
  const std::string table =
      html_table({{.heading = "pair", .cells = {"a", "b"}}, {.heading = "restitution", .cells = {"-", "-"}}});
  EXPECT_EQ(table.find("restitution"), std::string::npos);
  EXPECT_NE(table.find("data-label=\"pair\""), std::string::npos) << "narrow screens show the heading beside the cell";
}

}  // namespace
}  // namespace heelstrike::report
