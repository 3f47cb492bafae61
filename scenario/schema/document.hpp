/// A YAML text as a tree with line numbers, read by the event parser of yaml-cpp: duplicate keys, depth and size are
/// checked during reading, which the node interface of yaml-cpp does not support.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::config {

/// Limits of a scenario file, which bound memory and time for a hostile file.
inline constexpr std::size_t max_document_bytes = 8u << 20;
inline constexpr std::size_t max_document_depth = 32;
inline constexpr std::size_t max_document_nodes = 1'000'000;  ///< aliases count in full

struct Node;

/// One `key: value` of a map.
struct Entry {
  std::string key;
  int line = 0;  ///< of the key
  std::shared_ptr<const Node> value;
};

/// One value, immutable and therefore shared by aliases.
struct Node {
  enum class Type { null, scalar, sequence, map };

  Type type = Type::null;
  std::string scalar = {};                              ///< text of a scalar
  bool plain = true;                                    ///< a scalar without quotes: may be a number, true or false
  bool flow = true;                                     ///< a map in braces, not one key per line
  int line = 0;                                         ///< 1-based; 0 = not from the text
  std::vector<std::shared_ptr<const Node>> items = {};  ///< of a sequence
  std::vector<Entry> entries = {};                      ///< of a map, in file order, keys unique
  std::size_t size = 1;                                 ///< number of nodes below and including this one
  std::string note = {};                                ///< "--set key=value" for a value from the command line

  /// The entry's value, or nullptr.
  [[nodiscard]] const Node* find(std::string_view key) const;
};

/// A text and its origin.
struct Document {
  std::string file_name;
  std::shared_ptr<const Node> root;
};

/// Reads one YAML document.
/// @param file_name  for messages; "--set key=value" for a text from the command line
/// @throws Error{invalid_input} "file:line: ..." for text that does not parse, duplicate keys, several documents, keys
/// that are not texts, an alias inside its anchor, and a file beyond the limits above
[[nodiscard]] Document load_document(std::string_view yaml, const std::string& file_name);

class Mistakes;

/// The same; duplicate keys are added to `mistakes` and the first one is used.
[[nodiscard]] Document load_document(std::string_view yaml, const std::string& file_name, Mistakes& mistakes);

/// The tree as YAML text, keys on their old lines where possible; comments are not kept. Notes become trailing
/// comments, which `load_document` reads back as notes.
[[nodiscard]] std::string emit_document(const Node& root);

/// Description of the found value for messages: "a text 'abc'", "a list of 3 values", "nothing".
[[nodiscard]] std::string describe(const Node& node);

/// Shortened copy of text from a file for messages, in which every byte that is not printable text is written as
/// `\xNN`.
[[nodiscard]] std::string excerpt(std::string_view text);

}  // namespace heelstrike::config
