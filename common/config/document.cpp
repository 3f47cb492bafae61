#include "common/config/document.hpp"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace heelstrike::config {

const Node* Node::find(std::string_view key) const {
  const auto it = std::ranges::find(entries, key, &Entry::key);
  return it == entries.end() ? nullptr : it->value.get();
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out;
  for (const char c : text.substr(0, longest)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (text.size() > longest) out += "...";
  return out;
}

std::string describe(const Node& node) {
  switch (node.type) {
    case Node::Type::null:
      return "nothing";
    case Node::Type::scalar:
      return node.plain ? excerpt(node.scalar) : fmt::format("the text \"{}\"", excerpt(node.scalar));
    case Node::Type::sequence:
      return fmt::format("a list of {} values", node.items.size());
    case Node::Type::map:
      return fmt::format("a map with {} keys", node.entries.size());
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

/// Comments of the form `# --set key=value` or `# --backend name` at the end of a line, by line.
std::map<int, std::string> notes_of(std::string_view yaml) {
  std::map<int, std::string> notes;
  int line = 1;
  while (!yaml.empty()) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::string_view text = yaml.substr(0, end);
    if (const auto at = text.find(" # --"); at != std::string_view::npos) notes.emplace(line, text.substr(at + 3));
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
    ++line;
  }
  return notes;
}

/// Builds the tree from yaml-cpp's events.
class Builder final : public YAML::EventHandler {
 public:
  Builder(const std::string& file_name, std::map<int, std::string> notes)
      : file_name_(file_name), notes_(std::move(notes)) {}

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
                  YAML::EmitterStyle::value) override {
    open(make(Node::Type::map, mark), anchor);
  }
  void OnMapEnd() override { close(); }

  [[nodiscard]] std::shared_ptr<const Node> root() const { return root_; }

 private:
  struct Frame {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor = 0;
    std::optional<Entry> key;  ///< a key that waits for its value
    std::set<std::string> keys;
    std::vector<std::shared_ptr<const Node>> merged;  ///< values of `<<`
  };

  std::shared_ptr<Node> make(Node::Type type, const YAML::Mark& mark) {
    auto node = std::make_shared<Node>();
    node->type = type;
    node->line = line_of(mark);
    const auto note = notes_.find(node->line);
    if (type != Node::Type::map && note != notes_.end()) node->note = note->second;
    return node;
  }

  void open(std::shared_ptr<Node> node, YAML::anchor_t anchor) {
    if (frames_.size() >= max_document_depth) {
      fail(file_name_, node->line, fmt::format("nested deeper than {} levels; flatten it", max_document_depth));
    }
    frames_.push_back({.node = std::move(node), .anchor = anchor, .key = {}, .keys = {}, .merged = {}});
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
      throw input_error(node.scalar, fmt::format("{}:{}: {}: expected every key once, found it again (first in line "
                                                 "{}); remove one of the two",
                                                 file_name_, line, excerpt(node.scalar), first_line));
    }
    frame.key = Entry{.key = node.scalar, .line = line, .value = nullptr};
  }

  void finish_entry(Frame& frame, const std::shared_ptr<const Node>& node) {
    Entry entry = std::move(*frame.key);
    frame.key.reset();
    if (entry.key == "<<") {
      frame.merged.push_back(node);
      return;
    }
    entry.value = node;
    frame.node->size += node->size;
    frame.node->entries.push_back(std::move(entry));
  }

  /// YAML's merge key: entries of the other map that are not given here.
  void merge(Frame& frame, const Node& other) {
    if (other.type == Node::Type::sequence) {
      for (const auto& item : other.items) {
        if (item->type != Node::Type::map) refuse_merge(frame, *item);
        merge(frame, *item);
      }
      return;
    }
    if (other.type != Node::Type::map) refuse_merge(frame, other);
    for (const Entry& entry : other.entries) {
      count(1, frame.node->line);
      if (!frame.keys.insert(entry.key).second) continue;
      count(entry.value->size, frame.node->line);
      frame.node->size += entry.value->size;
      frame.node->entries.push_back(entry);
    }
  }

  [[noreturn]] void refuse_merge(const Frame& frame, const Node& found) {
    fail(file_name_, frame.node->line,
         fmt::format("<<: expected a map to merge, found {}; give an alias of a map", describe(found)));
  }

  void count(std::size_t nodes, int line) {
    n_nodes_ += nodes;
    if (n_nodes_ > max_document_nodes) {
      fail(file_name_, line,
           fmt::format("more than {} values (aliases counted as what they stand for); make it smaller",
                       max_document_nodes));
    }
  }

  const std::string& file_name_;
  std::map<int, std::string> notes_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, std::shared_ptr<const Node>> anchors_;
  std::shared_ptr<const Node> root_;
  std::size_t n_nodes_ = 0;
};

/// Ends at `end()`: yaml-cpp asks for a second document even where the text holds one.
class NoMore final : public YAML::EventHandler {
 public:
  explicit NoMore(const std::string& file_name) : file_name_(file_name) {}
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

void emit_node(YAML::Emitter& out, const Node& node) {
  switch (node.type) {
    case Node::Type::null:
      out << YAML::Null;
      break;
    case Node::Type::scalar:
      if (!node.plain) out << YAML::DoubleQuoted;
      out << node.scalar;
      break;
    case Node::Type::sequence:
      out << YAML::Flow << YAML::BeginSeq;
      for (const auto& item : node.items) emit_node(out, *item);
      out << YAML::EndSeq;
      break;
    case Node::Type::map:
      if (node.entries.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const Entry& entry : node.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit_node(out, *entry.value);
        if (!entry.value->note.empty() && entry.value->type != Node::Type::map) out << YAML::Comment(entry.value->note);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

Document load_document(std::string_view yaml, const std::string& file_name) {
  if (yaml.size() > max_document_bytes) {
    fail(file_name, 1,
         fmt::format("expected at most {} MiB, found {} bytes; put meshes and point clouds in files of their own",
                     max_document_bytes >> 20, yaml.size()));
  }
  Builder builder(file_name, notes_of(yaml));
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    NoMore no_more(file_name);
    parser.HandleNextDocument(no_more);
  } catch (const YAML::Exception& e) {
    fail(file_name, line_of(e.mark),
         fmt::format(
             "this is not YAML: {} (column {}); check indentation, brackets and quotes there and in the line above",
             e.msg, e.mark.is_null() ? 1 : e.mark.column + 1));
  }
  auto root = builder.root();
  if (!root) root = std::make_shared<Node>(Node{.line = 1});
  return {.file_name = file_name, .root = std::move(root)};
}

std::string emit_document(const Node& root) {
  YAML::Emitter out;
  out.SetMapFormat(YAML::Block);
  emit_node(out, root);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace heelstrike::config
