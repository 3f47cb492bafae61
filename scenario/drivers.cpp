#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

KeySchema driver_keys(const Catalog& catalog) {
  return {.name = "drivers",
          .kind = KeyKind::named,
          .meaning = "prescribed motion of a joint or of a body, by name",
          .keys = {variant_of(text("", "kind of driver"), catalog.drivers)}};
}

DriverSpec read_driver(const Field& field, Scenario& scenario, const Catalog& catalog) {
  DriverSpec driver;
  driver.name = field.name();
  driver.where = location_of(field);
  const KeySchema section = driver_keys(catalog);
  driver.type = chosen_type(section.keys.front(), field.node())->name;
  type_named(catalog.drivers, driver.type).read(field, driver, scenario);
  return driver;
}

}  // namespace heelstrike::config
