#include "library/runs/mesh_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "common/text/text_file.hpp"

namespace heelstrike {

namespace fs = std::filesystem;

namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

/// A keyword line of a deck that names a file.
struct Reference {
  std::string file;
  std::string keyword_line;  ///< the remaining keyword line; empty for *INCLUDE
};

/// None for lines that name no file.
std::optional<Reference> reference_in(std::string_view line) {
  if (!line.starts_with('*') || line.starts_with("**") || lower(line).find("input") == std::string::npos) return {};
  Reference reference;
  std::string name;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    const std::string_view field = trimmed(line.substr(at, comma - at));
    const std::size_t equals = field.find('=');
    if (at == 0) name = lower(field);
    if (equals != std::string_view::npos && lower(trimmed(field.substr(0, equals))) == "input") {
      reference.file = trimmed(field.substr(equals + 1));
    } else {
      reference.keyword_line += (reference.keyword_line.empty() ? "" : ", ") + std::string(field);
    }
    at = comma + 1;
  }
  if (reference.file.size() > 1 && reference.file.front() == '"' && reference.file.back() == '"')
    reference.file = reference.file.substr(1, reference.file.size() - 2);
  if (name == "*include") reference.keyword_line.clear();
  const bool is_of_mesh = name == "*include" || name == "*node" || name == "*element" || name == "*nset" ||
                          name == "*elset" || name == "*surface";
  return is_of_mesh && !reference.file.empty() ? std::optional(reference) : std::nullopt;
}

class Deck {
 public:
  Deck(const fs::path& path, const std::string& what, const ReadLimits& limits)
      : folder_(path.parent_path()), what_(what), limits_(limits) {}

  [[nodiscard]] const std::string& text() const { return text_; }

  void append(const fs::path& file, std::string_view content, int depth) {
    constexpr int deepest = 20;  // ends the recursion of files that include each other
    if (depth > deepest) {
      throw input_error(file.string(),
                        fmt::format("{}: {}: expected includes at most {} deep, found more; check whether a file "
                                    "includes itself",
                                    what_, file.string(), deepest));
    }
    const MarkedText marked(content);
    TextLines lines(marked.bytes());
    while (const auto line = lines.next()) {
      std::string keyword(trimmed(line->text));
      // A keyword line that ends with a comma continues in the next line.
      while (keyword.starts_with('*') && !keyword.starts_with("**") && keyword.ends_with(',')) {
        const auto more = lines.next();
        if (!more) break;
        keyword += trimmed(more->text);
      }
      const auto reference = reference_in(keyword);
      if (!reference) {
        append_line(keyword);
        continue;
      }
      if (!reference->keyword_line.empty()) append_line(reference->keyword_line);
      fs::path named = folder_ / reference->file;
      std::error_code ignored;
      if (!fs::exists(named, ignored)) {
        if (const fs::path beside = file.parent_path() / reference->file; fs::exists(beside, ignored)) named = beside;
      }
      append(
          named,
          read_file(named, fmt::format("{}: file named by {}, line {}", what_, file.string(), line->number), limits_),
          depth + 1);
    }
  }

 private:
  void append_line(std::string_view line) {
    if (text_.size() + line.size() >= limits_.max_bytes) {
      throw input_error(folder_.string(), fmt::format("{}: expected at most {} MiB with all included files, found more",
                                                      what_, limits_.max_bytes >> 20U));
    }
    (text_ += line) += '\n';
  }

  fs::path folder_;
  std::string what_;
  ReadLimits limits_;
  std::string text_;
};

bool names_files(std::string_view content) {
  const MarkedText marked(content);
  TextLines lines(marked.bytes());
  while (const auto line = lines.next()) {
    const std::string_view text = trimmed(line->text);
    // A keyword may continue in a second line, which can name the file.
    if (text.starts_with('*') && !text.starts_with("**") && (text.ends_with(',') || reference_in(text))) return true;
  }
  return false;
}

}  // namespace

std::string read_mesh_file(const fs::path& path, const std::string& what, const ReadLimits& limits) {
  std::string content = read_file(path, what, limits);
  if (lower(path.extension().string()) != ".inp" || !names_files(content)) return content;
  Deck deck(path, what, limits);
  deck.append(path, content, 0);
  return deck.text();
}

}  // namespace heelstrike
