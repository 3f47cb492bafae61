#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "common/parameters/retired_names.hpp"
#include "common/text/suggestion.hpp"
#include "common/text/text_file.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

namespace {

constexpr std::size_t max_name_length = 64;

/// The note of a value; for a map, the common note of all its values.
std::string note_of(const Node& node) {
  if (node.type != Node::Type::map || node.entries.empty()) return node.note;
  const std::string first = note_of(*node.entries.front().value);
  const bool shared = std::ranges::all_of(node.entries, [&](const Entry& e) { return note_of(*e.value) == first; });
  return shared ? first : node.note;
}

std::string joined(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::vector<std::string> names_of(const KeySchema& schema) {
  std::vector<std::string> names;
  for (const auto& key : schema.keys) names.push_back(key.name);
  return names;
}

[[noreturn]] void throw_kind_error(const Document& document, const Node& node, const KeySchema& schema,
                                   const std::string& path) {
  const std::string advice = schema.meaning.empty() ? "change it" : "it is the " + schema.meaning;
  reject(document, node, path, expectation(schema), describe(node), advice);
}

void check_number(const Document& document, const Node& node, const KeySchema& schema, const std::string& path) {
  double value = 0.0;
  if (!read_number(node, value)) {
    reject(document, node, path, expectation(schema), describe(node), number_advice(node, schema.unit));
  }
  if (const auto advice = number_violation(schema, value)) {
    reject(document, node, path, expectation(schema), describe(node), *advice);
  }
}

void check_numbers(const Document& document, const Node& node, const KeySchema& schema, const std::string& path,
                   Issues& issues) {
  if (node.type != Node::Type::sequence) throw_kind_error(document, node, schema, path);
  if (const auto advice = size_violation(schema, node.items.size())) {
    reject(document, node, path, expectation(schema), describe(node), *advice);
  }
  KeySchema entry = schema;
  entry.kind = KeyKind::number;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    issues.attempt([&] { check_number(document, *node.items[i], entry, fmt::format("{}[{}]", path, i)); });
  }
}

void check_text(const Document& document, const Node& node, const KeySchema& schema, const std::string& path) {
  const bool may_be_empty = schema.fallback && text_of(*schema.fallback).empty();
  if (node.type != Node::Type::scalar || (node.scalar.empty() && !may_be_empty)) {
    throw_kind_error(document, node, schema, path);
  }
  if (const auto advice = text_violation(schema, node.scalar)) {
    reject(document, node, path, expectation(schema), describe(node), *advice);
  }
}

void check_flag(const Document& document, const Node& node, const KeySchema& schema, const std::string& path) {
  const bool ok = node.type == Node::Type::scalar && node.plain && (node.scalar == "true" || node.scalar == "false");
  if (!ok) throw_kind_error(document, node, schema, path);
}

bool is_name(const std::string& word) {
  return !word.empty() && word.size() <= max_name_length && std::ranges::all_of(word, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// In braces `{mass: 2,5}` is the mass 2 and a key 5 without value: returns the intended number, or nothing.
std::string decimal_comma(const Node& map, const Entry& entry) {
  const auto at = std::ranges::find(map.entries, entry.key, &Entry::key);
  const bool digits = std::ranges::all_of(entry.key, [](char c) { return c >= '0' && c <= '9'; });
  if (at == map.entries.begin() || !digits || entry.value->type != Node::Type::null) return {};
  double value = 0.0;
  const Node& before = *std::prev(at)->value;
  return read_number(before, value) ? before.scalar + "." + entry.key : std::string();
}

/// Advice for a key that belongs to another type than the selected one; empty = it belongs to none.
std::string other_types_advice(const KeySchema* variant, const std::string& key) {
  if (variant == nullptr) return {};
  const std::string& choice = variant->keys.front().name;
  std::vector<std::string> types;
  for (auto type = variant->keys.begin() + 1; type != variant->keys.end(); ++type) {
    if (std::ranges::find(type->keys, key, &KeySchema::name) == type->keys.end()) continue;
    types.push_back(choice.empty() ? fmt::format("`{}`", type->name) : fmt::format("`{}: {}`", choice, type->name));
  }
  return types.empty() ? std::string() : fmt::format("remove it: it belongs to {}", fmt::join(types, ", "));
}

/// @param variant  variant of the map; may be null
[[noreturn]] void throw_invalid_key(const Document& document, const Node& map, const Entry& entry,
                                    const KeySchema& schema, const std::string& path, const KeySchema* variant) {
  Node where = *entry.value;
  where.line = entry.line;
  if (where.note.empty()) where.note = map.note;
  const auto names = names_of(schema);
  const std::string key = joined(path, excerpt(entry.key));
  const auto present = present_name(entry.key);
  if (present && std::ranges::find(names, *present) != names.end()) {
    throw issue_at(document, where, key, fmt::format("{}: this key is now '{}'", key, *present));
  }
  const std::string number = decimal_comma(map, entry);
  const std::string blank = missing_blank(entry.key);
  std::string elsewhere = other_types_advice(variant, entry.key);
  if (elsewhere.empty() && present) elsewhere = other_types_advice(variant, std::string(*present));
  const std::string advice = !number.empty()      ? fmt::format("decimals are written with a point: {}", number)
                             : !blank.empty()     ? blank
                             : !elsewhere.empty() ? elsewhere
                                                  : suggestion(entry.key, names, "remove it");
  throw issue_at(document, where, key,
                 fmt::format("{}: unknown key{}; expected one of {}, found '{}'; {}", key,
                             variant == nullptr ? std::string() : fmt::format(" of '{}'", schema.name),
                             fmt::join(names, ", "), excerpt(entry.key), advice));
}

void require_map(const Document& document, const Node& node, const KeySchema& schema, const std::string& path) {
  if (node.type == Node::Type::map) return;
  reject(document, node, path.empty() ? "scenario" : path, expectation(schema), describe(node),
         "write `key: value` lines, indented below it");
}

void check_map_shape(const Document& document, const Node& node, const KeySchema& schema, const std::string& path,
                     Issues& issues, const KeySchema* variant = nullptr) {
  require_map(document, node, schema, path);
  for (const Entry& entry : node.entries) {
    if (std::ranges::find(schema.keys, entry.key, &KeySchema::name) == schema.keys.end()) {
      issues.attempt([&] { throw_invalid_key(document, node, entry, schema, path, variant); });
    }
  }
}

/// The form of the keys of a map: that of the first given one, or else the first in the table.
std::string form_of(const Node& map, const KeySchema& schema) {
  std::string first;
  for (const KeySchema& key : schema.keys) {
    if (key.form.empty()) continue;
    if (map.find(key.name) != nullptr) return key.form;
    if (first.empty()) first = key.form;
  }
  return first;
}

/// Rejects keys of another form than the one used.
void check_other_form(const Document& document, const Node& map, const KeySchema& schema, const KeySchema& key,
                      const std::string& path) {
  const Node* value = map.find(key.name);
  if (value == nullptr) return;
  const std::string form = form_of(map, schema);
  std::vector<std::string> others;
  for (const KeySchema& other : schema.keys) {
    if (other.form == form && map.find(other.name) != nullptr) others.push_back(other.name);
  }
  const std::string full = joined(path, key.name);
  reject(document, *value, full, fmt::format("either `{}` or `{}`", fmt::join(others, "`, `"), key.name), "both",
         "remove one");
}

std::shared_ptr<const Node> default_value(const KeySchema& schema, int line) {
  auto value = std::make_shared<Node>(Node{.type = Node::Type::scalar, .line = line});
  if (const auto* list = std::get_if<std::vector<double>>(&*schema.fallback)) {
    value->type = Node::Type::sequence;
    for (const double x : *list) {
      value->items.push_back(
          std::make_shared<Node>(Node{.type = Node::Type::scalar, .scalar = text_of(x), .line = line}));
    }
    value->size += list->size();
  } else {
    value->scalar = text_of(*schema.fallback);
  }
  return value;
}

/// True if a given key is a misspelling of this one, which was reported before.
bool is_misspelt(const Node& map, const KeySchema& schema, const KeySchema& key) {
  const auto names = names_of(schema);
  return std::ranges::any_of(map.entries, [&](const Entry& entry) {
    return std::ranges::find(names, entry.key) == names.end() && nearest_name(entry.key, names) == key.name;
  });
}

[[noreturn]] void throw_missing(const Document& document, const Node& map, const KeySchema& key,
                                const std::string& path) {
  const std::string full = joined(path, key.name);
  throw issue_at(document, map, full,
                 fmt::format("{}: missing; expected {}, found nothing; add `{}:` ({})", full, expectation(key),
                             key.name, key.meaning));
}

/// True if an absent map is checked as an empty one to set its defaults.
bool is_optional_map(const KeySchema& key) {
  if (key.kind == KeyKind::variant) return key.keys.front().fallback.has_value();
  return key.kind == KeyKind::map && !key.opt_in && std::ranges::none_of(key.keys, &KeySchema::required);
}

std::shared_ptr<const Node> checked_map(const Document& document, const Node& node, const KeySchema& schema,
                                        const std::string& path, Issues& issues, const KeySchema* variant = nullptr) {
  check_map_shape(document, node, schema, path, issues, variant);
  auto result = std::make_shared<Node>(node);
  result->entries.clear();
  const std::string form = form_of(node, schema);
  for (const KeySchema& key : schema.keys) {
    const std::string full = joined(path, key.name);
    if (!key.form.empty() && key.form != form) {
      issues.attempt([&] { check_other_form(document, node, schema, key, path); });
    } else if (const Node* value = node.find(key.name)) {
      issues.attempt([&] {
        result->entries.push_back({key.name, value->line, checked(document, *value, key, full, issues)});
      });
    } else if (key.required) {
      if (is_misspelt(node, schema, key)) continue;
      issues.attempt([&] { throw_missing(document, node, key, path); });
    } else if (key.fallback) {
      result->entries.push_back({key.name, node.line, default_value(key, node.line)});
    } else if (is_optional_map(key)) {
      const Node empty{.type = Node::Type::map, .line = node.line};
      issues.attempt([&] {
        result->entries.push_back({key.name, node.line, checked(document, empty, key, full, issues)});
      });
    }
  }
  return result;
}

std::shared_ptr<const Node> checked_variant(const Document& document, const Node& node, const KeySchema& variant,
                                            const std::string& path, Issues& issues) {
  require_map(document, node, variant, path);
  const KeySchema& choice = variant.keys.front();
  const KeySchema* type = chosen_type(variant, node);
  if (type != nullptr) return checked_map(document, node, *type, path, issues, &variant);
  if (choice.name.empty()) {
    auto names = names_of(variant);
    names.erase(names.begin());
    reject(document, node, path, fmt::format("one of the keys {}", fmt::join(names, ", ")), "none", "add one");
  }
  if (const Node* given = node.find(choice.name)) check_text(document, *given, choice, joined(path, choice.name));
  KeySchema needed = choice;
  needed.required = true;
  if (is_misspelt(node, {.name = {}, .keys = keys_of(variant)}, needed)) {
    check_map_shape(document, node, {.name = {}, .keys = keys_of(variant)}, path, issues);
    return std::make_shared<const Node>(node);
  }
  throw_missing(document, node, needed, path);
}

std::shared_ptr<const Node> checked_named(const Document& document, const Node& node, const KeySchema& schema,
                                          const std::string& path, Issues& issues) {
  if (node.type != Node::Type::map) {
    reject(document, node, path, expectation(schema), describe(node), "write `name: {...}` lines, indented below it");
  }
  auto result = std::make_shared<Node>(node);
  for (Entry& entry : result->entries) {
    // An invalid entry is kept, so that others may still refer to its name.
    issues.attempt([&] {
      if (!is_name(entry.key)) {
        Node where = *entry.value;
        where.line = entry.line;
        throw issue_at(document, where, joined(path, entry.key),
                       fmt::format("{}: expected names of 1 to {} letters, digits, '_' or '-', found '{}'; rename it",
                                   path, max_name_length, excerpt(entry.key)));
      }
      const std::string full = joined(path, entry.key);
      const KeySchema& first = schema.keys.front();
      entry.value = first.kind == KeyKind::variant && first.name.empty()
                        ? checked_variant(document, *entry.value, first, full, issues)
                        : checked_map(document, *entry.value, schema, full, issues);
    });
  }
  return result;
}

std::shared_ptr<const Node> checked_one_of(const Document& document, const Node& node, const KeySchema& schema,
                                           const std::string& path, Issues& issues) {
  check_map_shape(document, node, schema, path, issues);
  if (node.entries.size() != 1) {
    reject(document, node, path, "exactly one of " + fmt::format("{}", fmt::join(names_of(schema), ", ")),
           describe(node), "keep one of them");
  }
  auto result = std::make_shared<Node>(node);
  Entry& entry = result->entries.front();
  const auto key = std::ranges::find(schema.keys, entry.key, &KeySchema::name);
  if (key != schema.keys.end()) {
    entry.value = checked(document, *entry.value, *key, joined(path, entry.key), issues);
  }
  return result;
}

std::shared_ptr<const Node> checked_list(const Document& document, const Node& node, const KeySchema& schema,
                                         const std::string& path, Issues& issues) {
  if (node.type != Node::Type::sequence) throw_kind_error(document, node, schema, path);
  auto result = std::make_shared<Node>(node);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    issues.attempt([&] {
      result->items[i] = checked(document, *node.items[i], schema.keys.front(), fmt::format("{}[{}]", path, i), issues);
    });
  }
  return result;
}

}  // namespace

std::string location(const Document& document, const Node& node) {
  const std::string note = note_of(node);
  return note.empty() ? fmt::format("{}:{}", document.file_name, node.line) : note;
}

void reject(const Document& document, const Node& node, const std::string& path, const std::string& expected,
            const std::string& found, const std::string& advice) {
  throw issue_at(document, node, path, fmt::format("{}: expected {}, found {}; {}", path, expected, found, advice));
}

bool read_number(const Node& node, double& value) {
  if (node.type != Node::Type::scalar || !node.plain || node.scalar.empty()) return false;
  std::string_view word = node.scalar;
  const bool negative = word.front() == '-';
  if (word.front() == '+' || negative) word.remove_prefix(1);
  if (word == ".inf" || word == ".Inf" || word == ".INF") {
    value = std::numeric_limits<double>::infinity();
  } else if (word == ".nan" || word == ".NaN" || word == ".NAN") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (word.empty() || word.front() == '-' || word.front() == '+') return false;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (end != word.data() + word.size()) return false;
    // Too large for a double: not finite, which every range rejects. Too small: zero.
    if (error == std::errc::result_out_of_range) {
      const auto e = word.find_first_of("eE");
      const bool tiny = e != std::string_view::npos ? word.substr(e + 1).starts_with('-') : word.starts_with("0.");
      value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    } else if (error != std::errc()) {
      return false;
    }
  }
  if (negative) value = -value;
  return true;
}

std::string number_advice(const Node& node, const std::string& unit) {
  const std::string in = unit == "-" || unit.empty() ? "" : " in " + unit;
  if (node.type != Node::Type::scalar) return fmt::format("give one plain number{}", in);
  Node unquoted = node;
  unquoted.plain = true;
  double value = 0.0;
  if (read_number(unquoted, value)) return "remove the quotes";
  if (const auto comma = node.scalar.find(','); comma != std::string::npos) {
    unquoted.scalar[comma] = '.';
    if (read_number(unquoted, value)) return fmt::format("decimals are written with a point: {}", unquoted.scalar);
  }
  const auto* begin = node.scalar.data();
  const auto* end = begin + node.scalar.size();
  const auto result = std::from_chars(begin + (node.scalar.starts_with('+') ? 1 : 0), end, value);
  if (result.ec != std::errc() || result.ptr == begin) return fmt::format("give a plain number{}", in);
  if (*result.ptr == ':' || *result.ptr == ',') {
    const std::string_view where = node.note.empty() ? "" : " (--vary KEY=FROM:TO:STEP or KEY=VALUE,VALUE)";
    return fmt::format("give one number{}; several values are runs of a heelstrike sweep{}", in, where);
  }
  // The number itself is right in the unit of the key only: 500 g are not 500 kg.
  return trimmed(std::string_view(result.ptr, end)) == unit
             ? fmt::format("units are not read: write {}, the plain number{}", std::string_view(begin, result.ptr), in)
             : fmt::format("units are not read from the file: give the plain number{}", in);
}

std::shared_ptr<const Node> checked_type(const Document& document, const Node& node, const KeySchema& type,
                                         const KeySchema& variant, const std::string& path, Issues& issues) {
  return checked_map(document, node, type, path, issues, &variant);
}

std::shared_ptr<const Node> checked(const Document& document, const Node& node, const KeySchema& schema,
                                    const std::string& path, Issues& issues) {
  switch (schema.kind) {
    case KeyKind::number:
    case KeyKind::integer:
      check_number(document, node, schema, path);
      break;
    case KeyKind::text:
      check_text(document, node, schema, path);
      break;
    case KeyKind::flag:
      check_flag(document, node, schema, path);
      break;
    case KeyKind::numbers:
      check_numbers(document, node, schema, path, issues);
      break;
    case KeyKind::list:
      return checked_list(document, node, schema, path, issues);
    case KeyKind::map:
      return checked_map(document, node, schema, path, issues);
    case KeyKind::named:
      return checked_named(document, node, schema, path, issues);
    case KeyKind::one_of:
      return checked_one_of(document, node, schema, path, issues);
    case KeyKind::variant:
      return checked_variant(document, node, schema, path, issues);
    case KeyKind::parameters:
      if (node.type != Node::Type::map) throw_kind_error(document, node, schema, path);
      break;
  }
  return std::make_shared<const Node>(node);
}

}  // namespace heelstrike::config
