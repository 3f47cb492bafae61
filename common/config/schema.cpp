#include "common/config/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/config/keys.hpp"
#include "common/config/sections/sections.hpp"

namespace heelstrike::config {

namespace {

KeySchema make_schema() {
  return {.name = "",
          .kind = KeyKind::map,
          .meaning = "scenario",
          .keys = {
              {.name = "heelstrike",
               .kind = KeyKind::integer,
               .meaning = "version of the file format",
               .required = true,
               .range = {.min = 1.0, .max = scenario_version}},
              text("description", "free text for the reader"),
              required(vector3("gravity", "m/s^2", accelerations, "acceleration of gravity in the world")),
              required(body_keys()),
              load_keys(),
              joint_keys(),
              motion_keys(),
              driver_keys(),
              force_keys(),
              contact_keys(),
              analysis_keys(),
              output_keys(),
          }};
}

std::string amount(const std::vector<std::size_t>& sizes) {
  return sizes.empty() ? std::string() : fmt::format("{} ", fmt::join(sizes, " or "));
}

std::string in_unit(const KeySchema& key) {
  return key.unit == "-" ? std::string() : fmt::format(" [{}]", key.unit);
}

std::string in_range(const KeySchema& key) {
  return key.range.text() == "any" ? std::string() : fmt::format(" {}", key.range.text());
}

std::vector<std::string> quoted_names(const std::vector<KeySchema>& keys) {
  std::vector<std::string> names;
  for (const auto& key : keys) names.push_back(key.name);
  return names;
}

std::string default_text(const KeySchema& key) {
  if (key.required) return "required";
  return key.fallback.empty() ? "-" : fmt::format("`{}`", key.fallback);
}

std::string child_path(const std::string& path, const KeySchema& parent, const KeySchema& key) {
  if (key.name.empty()) return path + "[]";
  const std::string middle = parent.kind == KeyKind::named ? ".NAME" : "";
  return path.empty() ? key.name : fmt::format("{}{}.{}", path, middle, key.name);
}

void write_rows(std::string& out, const KeySchema& parent, const std::string& path) {
  for (const KeySchema& key : parent.keys) {
    const std::string here = child_path(path, parent, key);
    out +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", here, expectation(key), key.unit, default_text(key), key.meaning);
    write_rows(out, key, here);
  }
}

}  // namespace

const KeySchema& scenario_schema() {
  static const KeySchema schema = make_schema();
  return schema;
}

std::string expectation(const KeySchema& key) {
  switch (key.kind) {
    case KeyKind::number:
      return fmt::format("a number{}{}", in_range(key), in_unit(key));
    case KeyKind::integer:
      return fmt::format("a whole number{}", in_range(key));
    case KeyKind::text:
      return key.choices.empty() ? "a text" : fmt::format("one of {}", fmt::join(key.choices, ", "));
    case KeyKind::flag:
      return "true or false";
    case KeyKind::numbers:
      return fmt::format("a list of {}numbers{}{}", amount(key.sizes), in_range(key), in_unit(key));
    case KeyKind::list:
      return fmt::format("a list, each entry {}", expectation(key.keys.front()));
    case KeyKind::map:
      return fmt::format("a map with the keys {}", fmt::join(quoted_names(key.keys), ", "));
    case KeyKind::named:
      return "a map from names to entries";
    case KeyKind::one_of:
      return fmt::format("a map with one of {}", fmt::join(quoted_names(key.keys), ", "));
    case KeyKind::parameters:
      return "a map from parameter names to values";
  }
  return "a value";
}

std::string scenario_reference() {
  std::string out =
      "# Keys of a scenario file\n\n"
      "<!-- Made from common/config/schema.cpp by `heelstrike schema`; a test compares. Do not edit. -->\n\n"
      "A scenario is one YAML file. All quantities are plain numbers in the SI unit of the table: `mass: 1.0`, not\n"
      "`1 kg`. Unknown keys are errors. `NAME` stands for a name you choose (letters, digits, `_` and `-`). Anchors,\n"
      "aliases and merge keys (`<<`) of YAML work.\n\n"
      "| key | value | unit | default | meaning |\n|---|---|---|---|---|\n";
  write_rows(out, scenario_schema(), "");
  return out;
}

}  // namespace heelstrike::config
