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

/// One issue in a file with its line.
class Issue : public Error {
 public:
  /// @param message  begins with the position
  Issue(int line, std::string field, const std::string& message)
      : Error(ErrorCode::invalid_input, message, std::move(field)), line_(line) {}
  [[nodiscard]] int line() const { return line_; }

 private:
  int line_;
};

/// The issue "location: text" at `node`. @param field  dotted key
[[nodiscard]] Issue issue_at(const Document& document, const Node& node, std::string field, const std::string& text);

/// Adds to an error about a value of the scenario the position of that value or, if absent from the file, of its
/// parent.
[[nodiscard]] Issue issue_of(const Document& document, const Error& error);

/// Issues found so far.
class Issues {
 public:
  /// Runs `work` and stores its Issue, so that reading continues.
  template <typename Work>
  void attempt(Work&& work) {
    try {
      work();
    } catch (const Issue& issue) {
      add(issue);
    }
  }
  void add(Issue issue);

  /// True if `path`, a dotted key, or a key below it is invalid and cannot be read further.
  [[nodiscard]] bool touch(std::string_view path) const;

  /// @throws Issue if there are any: one line each in file order, limited to the first ones and the number of others;
  /// field and line are those of the first
  void raise();

 private:
  std::vector<Issue> found_;
  std::size_t n_more_ = 0;  ///< not stored, beyond the limit of messages
};

/// Reads one YAML document.
/// @param file_name  for messages; "--set key=value" for a text from the command line
/// @throws Error{invalid_input} "file:line: ..." for text that does not parse, duplicate keys, several documents, keys
/// that are not texts, an alias inside its anchor, and a file beyond the limits above
[[nodiscard]] Document load_document(std::string_view yaml, const std::string& file_name);

/// The same; duplicate keys are added to `issues` and the first one is used.
[[nodiscard]] Document load_document(std::string_view yaml, const std::string& file_name, Issues& issues);

/// "write a blank after the colon: `mass: 1.0`" for a text "mass:1.0", which YAML reads as one word; else empty.
[[nodiscard]] std::string missing_blank(std::string_view text);

/// The tree as YAML text, keys on their old lines where possible; comments are not kept. Notes become trailing
/// comments, which `load_document` reads back as notes.
[[nodiscard]] std::string emit_document(const Node& root);

/// Description of the found value for messages: "a text 'abc'", "a list of 3 values", "nothing".
[[nodiscard]] std::string describe(const Node& node);

/// Shortened copy of text from a file for messages, in which every byte that is not printable text is written as
/// `\xNN`.
[[nodiscard]] std::string excerpt(std::string_view text);

}  // namespace heelstrike::config
