#include "scenario/scenario_schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

namespace {

std::string child_path(const std::string& path, const KeySchema& parent, const KeySchema& key) {
  if (key.name.empty()) return path + "[]";
  const std::string middle = parent.kind == KeyKind::named ? ".NAME" : "";
  return path.empty() ? key.name : fmt::format("{}{}.{}", path, middle, key.name);
}

/// Collects the rows of a schema.
class ReferenceRows {
 public:
  void add(const KeySchema& key, const std::string& path, std::vector<std::string> types = {}) {
    rows.push_back(
        {.path = path, .key = key, .expected = expectation(key), .types = std::move(types), .depth = depth_});
    rows.back().key.keys.clear();
    add_nested(key, path);
  }
  void add_nested(const KeySchema& parent, const std::string& path) {
    ++depth_;
    if (parent.kind == KeyKind::variant) add_types(parent, path);
    for (const KeySchema& key : parent.keys) {
      if (parent.kind == KeyKind::variant) break;
      if (key.name.empty() && key.kind == KeyKind::variant) {
        add_types(key, path + ".NAME");
      } else {
        add(key, child_path(path, parent, key));
      }
    }
    --depth_;
  }

  std::vector<ReferenceRow> rows;

 private:
  /// The key that selects the type, then all others, each with its types unless all have it.
  void add_types(const KeySchema& variant, const std::string& path) {
    const KeySchema& choice = variant.keys.front();
    if (!choice.name.empty()) add(choice, path + "." + choice.name);
    for (TypedKey& typed : keys_by_type(variant)) {
      if (typed.key.name == choice.name) continue;
      if (typed.types.size() + 1 == variant.keys.size()) typed.types.clear();
      add(typed.key, path + "." + typed.key.name, std::move(typed.types));
    }
  }

  std::size_t depth_ = 0;
};

/// Parts of a dotted path, without [].
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : path + '.') {
    if (c == '[' || c == ']') continue;
    if (c != '.') {
      part += c;
    } else {
      parts.push_back(std::exchange(part, {}));
    }
  }
  return parts;
}

/// NAME of a row matches any name, and may be omitted in the word.
bool matches(std::span<const std::string> row, std::span<const std::string> word) {
  if (row.empty() || word.empty()) return row.empty() && word.empty();
  if (row.front() == "NAME") {
    return matches(row.subspan(1), word) || matches(row.subspan(1), word.subspan(1));
  }
  return row.front() == word.front() && matches(row.subspan(1), word.subspan(1));
}

bool is_choice(const KeySchema& key, const std::string& word) {
  return std::ranges::find(key.choices, word) != key.choices.end();
}

/// The section whose type is selected by the key of this path.
std::string section_of(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

/// The selected rows, each followed by its nested rows.
std::vector<ReferenceRow> with_nested(const std::vector<ReferenceRow>& all,
                                      const std::function<bool(const ReferenceRow&)>& is_selected) {
  std::vector<ReferenceRow> chosen;
  std::optional<std::size_t> inside;
  for (const ReferenceRow& row : all) {
    if (inside && row.depth <= *inside) inside.reset();
    if (!inside && is_selected(row)) inside = row.depth;
    if (inside) chosen.push_back(row);
  }
  return chosen;
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

std::string ReferenceRow::meaning() const {
  return types.empty() ? key.meaning : fmt::format("{} ({})", key.meaning, fmt::join(types, ", "));
}

std::string ReferenceRow::default_text() const {
  if (key.required) return "required";
  return key.fallback ? fmt::format("`{}`", text_of(*key.fallback)) : "-";
}

std::vector<ReferenceRow> reference_rows(const KeySchema& key, const std::string& path) {
  ReferenceRows rows;
  if (path.empty()) {
    rows.add_nested(key, path);
  } else {
    rows.add(key, path);
  }
  return std::move(rows.rows);
}

std::vector<ReferenceRow> rows_for(const std::vector<ReferenceRow>& all, const std::string& word) {
  const std::vector<std::string> parts = parts_of(word);
  const bool is_path =
      std::ranges::any_of(all, [&](const ReferenceRow& row) { return matches(parts_of(row.path), parts); });
  if (is_path) return with_nested(all, [&](const ReferenceRow& row) { return matches(parts_of(row.path), parts); });
  // A type: the key that selects it, and the keys of its section that it has.
  std::vector<std::string> sections;
  for (const ReferenceRow& row : all) {
    if (std::ranges::find(row.types, word) != row.types.end()) sections.push_back(section_of(row.path));
  }
  return with_nested(all, [&](const ReferenceRow& row) {
    if (parts_of(row.path).back() == word || is_choice(row.key, word)) return true;
    const bool is_key_of_section = std::ranges::find(sections, section_of(row.path)) != sections.end();
    if (!is_key_of_section || row.path.ends_with(']')) return false;
    return row.types.empty() || std::ranges::find(row.types, word) != row.types.end();
  });
}

std::string scenario_reference(const Catalog& catalog) {
  std::string out =
      "# Keys of a scenario file\n\n"
      "<!-- Made from the tables of keys by `heelstrike schema`. -->\n\n"
      "A scenario is one YAML file. All quantities are plain numbers in the SI unit of the table: `mass: 1.0`, not\n"
      "`1 kg`. Unknown keys are errors. `NAME` stands for a name you choose (letters, digits, `_` and `-`). Anchors,\n"
      "aliases and merge keys (`<<`) of YAML work.\n\n"
      "| key | value | unit | default | meaning |\n|---|---|---|---|---|\n";
  for (const ReferenceRow& row : reference_rows(scenario_schema(catalog), "")) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.path, row.expected, row.key.unit, row.default_text(),
                       row.meaning());
  }
  return out;
}

}  // namespace heelstrike::config
