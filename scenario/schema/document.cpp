#include "scenario/schema/document.hpp"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "common/errors/plain_text.hpp"

namespace heelstrike::config {

const Node* Node::find(std::string_view key) const {
  const auto it = std::ranges::find(entries, key, &Entry::key);
  return it == entries.end() ? nullptr : it->value.get();
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 60;
  return printable(text, longest);
}

std::string describe(const Node& node) {
  switch (node.type) {
    case Node::Type::null:
      return "nothing";
    case Node::Type::scalar:
      return node.plain ? excerpt(node.scalar) : fmt::format("the text \"{}\"", excerpt(node.scalar));
    case Node::Type::sequence:
      return fmt::format("a list of {} {}", node.items.size(), node.items.size() == 1 ? "value" : "values");
    case Node::Type::map:
      return fmt::format("a map with {} {}", node.entries.size(), node.entries.size() == 1 ? "key" : "keys");
  }
  return "something else";
}

namespace {

[[noreturn]] void fail(const std::string& file_name, int line, const std::string& text) {
  throw input_error("", fmt::format("{}:{}: {}", file_name, line, text));
}

int line_of(const YAML::Mark& mark) {
  return mark.is_null() ? 1 : mark.line + 1;
}

using Notes = std::multimap<int, std::string>;

/// Comments of the form `# --set key=value`, for any option, or `# --backend name` at the end of a line, by line.
Notes notes_of(std::string_view yaml) {
  constexpr std::string_view mark = " # --";
  Notes notes;
  for (int line = 1; !yaml.empty(); ++line) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::string_view text = yaml.substr(0, end);
    for (auto at = text.find(mark); at != std::string_view::npos;) {
      const auto next = text.find(mark, at + 1);
      notes.emplace(line, text.substr(at + 3, next == std::string_view::npos ? next : next - at - 3));
      at = next;
    }
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
  }
  return notes;
}

/// True if the option in `note` set the value at `path`; several values may share the line of a note.
bool covers(const std::string& note, const std::vector<std::string>& path) {
  const std::string joined = fmt::format("{}.", fmt::join(path, "."));
  const bool in_pair = path.size() >= 3 && path[0] == "contact";
  if (note.starts_with("--backend ")) return in_pair && path[2] == "backend";
  const auto space = std::min(note.find(' '), note.size() - 1);
  const std::string key = note.substr(space + 1, note.find('=') - space - 1) + ".";
  if (joined.starts_with(key)) return true;
  if (!in_pair) return false;
  const std::string& name = path.size() > 3 && path[2] == "parameters" ? path[3] : path[2];
  return key == fmt::format("contact.{}.", name) || key == fmt::format("contact.{}.{}.", path[1], name);
}

/// Builds the tree from yaml-cpp's events.
class Builder final : public YAML::EventHandler {
 public:
  Builder(const std::string& file_name, Notes notes, Issues& issues)
      : file_name_(file_name), notes_(std::move(notes)), issues_(issues) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(make(Node::Type::null, mark), anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail(file_name_, line_of(mark), "an alias inside its own anchor; write the value out");
    count(it->second->size, line_of(mark));
    place(it->second, line_of(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = make(Node::Type::scalar, mark);
    node->scalar = value;
    node->plain = tag != "!";
    add(node, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(Node::Type::sequence, mark), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    auto node = make(Node::Type::map, mark);
    node->flow = style == YAML::EmitterStyle::Flow;
    open(std::move(node), anchor);
  }
  void OnMapEnd() override { close(); }

  [[nodiscard]] std::shared_ptr<const Node> root() const { return root_; }

 private:
  struct Frame {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor = 0;
    std::optional<Entry> key;  ///< a key without its value so far
    bool repeated = false;     ///< the key is a duplicate
    std::set<std::string> keys;
    std::vector<std::shared_ptr<const Node>> merged;  ///< values of `<<`
  };

  std::shared_ptr<Node> make(Node::Type type, const YAML::Mark& mark) {
    auto node = std::make_shared<Node>();
    node->type = type;
    node->line = line_of(mark);
    const auto [first, last] = notes_.equal_range(node->line);
    for (auto it = first; type != Node::Type::map && it != last; ++it) {
      if (covers(it->second, path())) node->note = it->second;
    }
    return node;
  }

  /// Keys of the current value.
  [[nodiscard]] std::vector<std::string> path() const {
    std::vector<std::string> keys;
    for (const Frame& frame : frames_) {
      if (frame.key) keys.push_back(frame.key->key);
    }
    return keys;
  }

  void open(std::shared_ptr<Node> node, YAML::anchor_t anchor) {
    if (frames_.size() >= max_document_depth) {
      fail(file_name_, node->line, fmt::format("nested deeper than {} levels; flatten it", max_document_depth));
    }
    frames_.push_back(
        {.node = std::move(node), .anchor = anchor, .key = {}, .repeated = false, .keys = {}, .merged = {}});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const auto& other : frame.merged) merge(frame, *other);
    add(frame.node, frame.anchor);
  }

  void add(const std::shared_ptr<Node>& node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
    count(1, node->line);
    place(node, node->line);
  }

  void place(const std::shared_ptr<const Node>& node, int line) {
    if (frames_.empty()) {
      root_ = node;
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node->type == Node::Type::sequence) {
      frame.node->size += node->size;
      frame.node->items.push_back(node);
    } else if (!frame.key) {
      start_entry(frame, *node, line);
    } else {
      finish_entry(frame, node);
    }
  }

  void start_entry(Frame& frame, const Node& node, int line) {
    if (node.type != Node::Type::scalar) {
      fail(file_name_, line, fmt::format("expected a name as key, found {}; write `name: value`", describe(node)));
    }
    if (!frame.keys.insert(node.scalar).second) {
      const auto first = std::ranges::find(frame.node->entries, node.scalar, &Entry::key);
      const int first_line = first == frame.node->entries.end() ? frame.node->line : first->line;
      issues_.add({line, node.scalar,
                   fmt::format("{}:{}: {}: expected every key once, found it again (first in line {}); remove one of "
                               "the two",
                               file_name_, line, excerpt(node.scalar), first_line)});
      frame.repeated = true;
    }
    frame.key = Entry{.key = node.scalar, .line = line, .value = nullptr};
  }

  void finish_entry(Frame& frame, const std::shared_ptr<const Node>& node) {
    Entry entry = std::move(*frame.key);
    frame.key.reset();
    if (std::exchange(frame.repeated, false)) return;
    if (entry.key == "<<") {
      frame.merged.push_back(node);
      return;
    }
    entry.value = node;
    frame.node->size += node->size;
    frame.node->entries.push_back(std::move(entry));
  }

  /// YAML merge key: adds entries of the other map that are absent here.
  void merge(Frame& frame, const Node& other) {
    if (other.type == Node::Type::sequence) {
      for (const auto& item : other.items) {
        if (item->type != Node::Type::map) throw_invalid_merge(frame, *item);
        merge(frame, *item);
      }
      return;
    }
    if (other.type != Node::Type::map) throw_invalid_merge(frame, other);
    for (const Entry& entry : other.entries) {
      count(1, frame.node->line);
      if (!frame.keys.insert(entry.key).second) continue;
      count(entry.value->size, frame.node->line);
      frame.node->size += entry.value->size;
      frame.node->entries.push_back(entry);
    }
  }

  [[noreturn]] void throw_invalid_merge(const Frame& frame, const Node& found) {
    fail(file_name_, frame.node->line,
         fmt::format("<<: expected a map to merge, found {}; give an alias of a map", describe(found)));
  }

  void count(std::size_t nodes, int line) {
    n_nodes_ += nodes;
    if (n_nodes_ > max_document_nodes) {
      fail(file_name_, line,
           fmt::format("more than {} values (aliases counted in full); make it smaller", max_document_nodes));
    }
  }

  const std::string& file_name_;
  Notes notes_;
  Issues& issues_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, std::shared_ptr<const Node>> anchors_;
  std::shared_ptr<const Node> root_;
  std::size_t n_nodes_ = 0;
};

/// Ends at `end()`: yaml-cpp reads a second document even if the text has only one.
class SingleDocumentCheck final : public YAML::EventHandler {
 public:
  explicit SingleDocumentCheck(const std::string& file_name) : file_name_(file_name) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    fail(file_name_, line_of(mark), "expected one YAML document, found a second one ('---'); put it in another file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  const std::string& file_name_;
};

/// Writes a tree with every key on its original line where possible, so that messages about the new text refer to the
/// user's file. Comments are not kept; their lines remain empty.
class Writer {
 public:
  std::string text(const Node& root) {
    value(root, 0, false);
    end_line();
    return std::move(text_);
  }

 private:
  void value(const Node& node, std::size_t indent, bool in_flow) {
    if (!node.note.empty() && notes_.find(node.note) == std::string::npos) notes_ += " # " + node.note;
    switch (node.type) {
      case Node::Type::null:
        text_ += '~';
        break;
      case Node::Type::scalar:
        text_ += node.plain && is_safe(node.scalar) ? node.scalar : quoted(node.scalar);
        break;
      case Node::Type::sequence:
        sequence(node, indent);
        break;
      case Node::Type::map:
        if (in_flow || node.flow || node.entries.empty()) {
          flow_map(node, indent);
        } else {
          block_map(node, indent);
        }
        break;
    }
  }

  void sequence(const Node& node, std::size_t indent) {
    text_ += '[';
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (i > 0) text_ += ", ";
      reach(node.items[i]->line, indent + 2);
      value(*node.items[i], indent + 2, true);
    }
    text_ += ']';
  }

  void flow_map(const Node& node, std::size_t indent) {
    text_ += '{';
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      if (i > 0) text_ += ", ";
      reach(node.entries[i].line, indent + 2);
      key(node.entries[i]);
      text_ += ' ';
      value(*node.entries[i].value, indent + 2, true);
    }
    text_ += '}';
  }

  void block_map(const Node& node, std::size_t indent) {
    for (const Entry& entry : node.entries) {
      if (text_.size() > line_start_) end_line();
      reach(entry.line, indent);
      if (text_.size() == line_start_) text_.append(indent, ' ');
      key(entry);
      const bool below = entry.value->type == Node::Type::map && !entry.value->flow && !entry.value->entries.empty();
      if (!below) text_ += ' ';
      value(*entry.value, indent + 2, false);
    }
  }

  void key(const Entry& entry) { text_ += (is_safe(entry.key) ? entry.key : quoted(entry.key)) + ":"; }

  /// Advances to `line` of the original file, unless that line has passed.
  void reach(int line, std::size_t indent) {
    if (line_ >= line) return;
    while (line_ < line) end_line();
    text_.append(indent, ' ');
  }

  void end_line() {
    text_ += notes_ + "\n";
    notes_.clear();
    line_start_ = text_.size();
    ++line_;
  }

  /// True if the text needs no quotes anywhere and keeps its meaning.
  static bool is_safe(const std::string& word) {
    const auto alphanumeric = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    const auto inner = [&](char c) { return alphanumeric(c) || std::string_view(" _.+-/^*()").find(c) != word.npos; };
    if (word.empty() || word.back() == ' ' || !std::ranges::all_of(word, inner)) return false;
    if (alphanumeric(word.front())) return word != "null" && word != "Null" && word != "NULL";
    return word.size() > 1 && (word.front() == '-' || word.front() == '+' || word.front() == '.') &&
           (alphanumeric(word[1]) || (word[1] == '.' && word.size() > 2 && alphanumeric(word[2])));
  }

  static std::string quoted(const std::string& word) {
    YAML::Emitter out;
    out << YAML::DoubleQuoted << word;
    return out.c_str();
  }

  std::string text_;
  std::string notes_;  ///< comments for the end of the current line
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

Document load_document(std::string_view yaml, const std::string& file_name) {
  Issues issues;
  Document document = load_document(yaml, file_name, issues);
  issues.raise();
  return document;
}

std::string missing_blank(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 >= text.size()) return {};
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  const bool is_value = std::isgraph(static_cast<unsigned char>(text[colon + 1])) != 0;
  if (!is_value || !std::ranges::all_of(text.substr(0, colon), is_of_name)) return {};
  const std::string_view value = text.substr(colon + 1, text.find_first_of(" \t\r,}", colon) - colon - 1);
  return fmt::format("write a blank after the colon: `{}: {}`", text.substr(0, colon), excerpt(value));
}

namespace {

/// Advice for the position where yaml-cpp stopped.
std::string advice_at(std::string_view yaml, int line) {
  for (int n = 1; n <= line && !yaml.empty(); ++n) {
    const std::string_view text = yaml.substr(0, yaml.find('\n'));
    const std::string_view indentation = text.substr(0, text.find_first_not_of(" \t"));
    // The reported line, or the one above.
    if (n + 1 >= line && indentation.find('\t') != std::string_view::npos) {
      return fmt::format("line {} is indented by a tab, but YAML allows blanks only: write two blanks instead", n);
    }
    const std::string blank = n + 1 >= line ? missing_blank(text.substr(indentation.size())) : std::string();
    if (!blank.empty()) return fmt::format("line {}: {}", n, blank);
    yaml.remove_prefix(std::min(text.size() + 1, yaml.size()));
  }
  return "check indentation, brackets and quotes there and in the line above";
}

}  // namespace

Document load_document(std::string_view yaml, const std::string& file_name, Issues& issues) {
  if (yaml.size() > max_document_bytes) {
    fail(file_name, 1,
         fmt::format("expected at most {} MiB, found {} bytes; put meshes and point clouds in separate files",
                     max_document_bytes >> 20, yaml.size()));
  }
  Builder builder(file_name, notes_of(yaml), issues);
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    SingleDocumentCheck single_document(file_name);
    parser.HandleNextDocument(single_document);
  } catch (const YAML::Exception& e) {
    const int line = line_of(e.mark);
    fail(file_name, line,
         fmt::format("invalid YAML: {} (column {}); {}", e.msg, e.mark.is_null() ? 1 : e.mark.column + 1,
                     advice_at(yaml, line)));
  }
  auto root = builder.root();
  if (!root) root = std::make_shared<Node>(Node{.line = 1});
  return {.file_name = file_name, .root = std::move(root)};
}

std::string emit_document(const Node& root) {
  return Writer().text(root);
}

}  // namespace heelstrike::config
