#include "scenario/scenario_schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

namespace {

std::string default_text(const KeySchema& key) {
  if (key.required) return "required";
  return key.fallback ? fmt::format("`{}`", text_of(*key.fallback)) : "-";
}

std::string child_path(const std::string& path, const KeySchema& parent, const KeySchema& key) {
  if (key.name.empty()) return path + "[]";
  const std::string middle = parent.kind == KeyKind::named ? ".NAME" : "";
  return path.empty() ? key.name : fmt::format("{}{}.{}", path, middle, key.name);
}

void write_rows(std::string& out, const KeySchema& parent, const std::string& path);

void write_row(std::string& out, const KeySchema& key, const std::string& path, const std::string& meaning) {
  out += fmt::format("| `{}` | {} | {} | {} | {} |\n", path, expectation(key), key.unit, default_text(key), meaning);
  write_rows(out, key, path);
}

/// The key that selects the type, then all others, each with its types unless all have it.
void write_variant(std::string& out, const KeySchema& variant, const std::string& path) {
  const KeySchema& choice = variant.keys.front();
  if (!choice.name.empty()) write_row(out, choice, path + "." + choice.name, choice.meaning);
  for (const TypedKey& typed : keys_by_type(variant)) {
    if (typed.key.name == choice.name) continue;
    const bool for_all_types = typed.types.size() + 1 == variant.keys.size();
    write_row(
        out, typed.key, path + "." + typed.key.name,
        for_all_types ? typed.key.meaning : fmt::format("{} ({})", typed.key.meaning, fmt::join(typed.types, ", ")));
  }
}

void write_rows(std::string& out, const KeySchema& parent, const std::string& path) {
  if (parent.kind == KeyKind::variant) return write_variant(out, parent, path);
  for (const KeySchema& key : parent.keys) {
    if (key.name.empty() && key.kind == KeyKind::variant) {
      write_variant(out, key, path + ".NAME");
    } else {
      write_row(out, key, child_path(path, parent, key), key.meaning);
    }
  }
}

}  // namespace

KeySchema scenario_schema(const Catalog& catalog, const std::string& default_integrator) {
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
              import_keys(),
              required(vector3("gravity", "m/s^2", accelerations, "acceleration of gravity in the world")),
              required(body_keys()),
              load_keys(),
              joint_keys(catalog),
              motion_keys(),
              driver_keys(catalog),
              force_keys(catalog),
              contact_keys(),
              analysis_keys(catalog, default_integrator),
              coupling_keys(catalog),
              output_keys(),
          }};
}

std::string scenario_reference(const Catalog& catalog) {
  std::string out =
      "# Keys of a scenario file\n\n"
      "<!-- Made from the tables of keys by `heelstrike schema`. -->\n\n"
      "A scenario is one YAML file. All quantities are plain numbers in the SI unit of the table: `mass: 1.0`, not\n"
      "`1 kg`. Unknown keys are errors. `NAME` stands for a name you choose (letters, digits, `_` and `-`). Anchors,\n"
      "aliases and merge keys (`<<`) of YAML work.\n\n"
      "| key | value | unit | default | meaning |\n|---|---|---|---|---|\n";
  write_rows(out, scenario_schema(catalog), "");
  return out;
}

}  // namespace heelstrike::config
