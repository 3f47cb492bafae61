#include "scenario/schema/document.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

Issue issue_at(const Document& document, const Node& node, std::string field, const std::string& text) {
  return {node.line, std::move(field), fmt::format("{}: {}", location(document, node), text)};
}

Issue issue_of(const Document& document, const Error& error) {
  const Node* node = document.root.get();
  int line = node->line;
  std::string_view path = error.field();
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    const auto entry = std::ranges::find(node->entries, key, &Entry::key);
    if (entry == node->entries.end()) break;
    node = entry->value.get();
    line = entry->line;
    path.remove_prefix(std::min(key.size() + 1, path.size()));
  }
  Node where = *node;
  where.line = line;
  return issue_at(document, where, error.field(), error.what());
}

void Issues::add(Issue issue) {
  constexpr std::size_t kept = 200;
  if (found_.size() < kept) {
    found_.push_back(std::move(issue));
  } else {
    ++n_more_;
  }
}

bool Issues::touch(std::string_view path) const {
  return n_more_ > 0 || std::ranges::any_of(found_, [&](const Issue& issue) {
           const std::string_view field = issue.field();
           return field.starts_with(path) &&
                  (field.size() == path.size() || field[path.size()] == '.' || field[path.size()] == '[');
         });
}

namespace {

/// The same message at the same line about another key: an alias of several keys.
bool same(const Issue& a, const Issue& b) {
  const auto words = [](const Issue& issue) {
    std::string text = issue.what();
    const auto at = text.find(issue.field());
    return at == std::string::npos ? text : text.erase(at, issue.field().size());
  };
  return a.line() == b.line() && words(a) == words(b);
}

}  // namespace

void Issues::raise() {
  std::ranges::stable_sort(found_, {}, &Issue::line);
  for (auto it = found_.begin(); it != found_.end(); ++it) {
    found_.erase(std::remove_if(it + 1, found_.end(), [&](const Issue& other) { return same(*it, other); }),
                 found_.end());
  }
  if (found_.empty()) return;
  if (found_.size() == 1) throw found_.front();
  // The first errors often cause the others; more than a screen would hide them.
  constexpr std::size_t shown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, found_.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : "\n", found_[i].what());
  }
  const std::size_t n_hidden = found_.size() - std::min(shown, found_.size()) + n_more_;
  if (n_hidden > 0) text += fmt::format("\nand {} more", n_hidden);
  throw Issue(found_.front().line(), found_.front().field(), text);
}

}  // namespace heelstrike::config
