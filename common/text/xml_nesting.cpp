#include "common/text/xml_nesting.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

/// Position of the ">" that ends the tag at `at`; quoted characters are skipped.
std::size_t end_of_tag(std::string_view text, std::size_t at) {
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      break;
    }
  }
  return at;
}

/// End of the section that `open`, at `at`, begins and `close` ends.
std::size_t end_of_section(std::string_view text, std::size_t at, std::string_view open, std::string_view close) {
  const std::size_t end = text.find(close, at + open.size());
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool is_wide(std::string_view text) {
  using namespace std::string_view_literals;
  const std::string_view begin = text.substr(0, 4);
  return begin.starts_with("\xff\xfe"sv) || begin.starts_with("\xfe\xff"sv) || begin.find('\0') != begin.npos;
}

}  // namespace

void check_xml_nesting(std::string_view text, const std::string& where, const std::string& field) {
  const auto refuse = [&](std::size_t at, const std::string& what) {
    throw input_error(field, fmt::format("{}, line {}: {}", where, line_of_offset(text, at), what));
  };
  if (is_wide(text)) refuse(0, "expected XML in UTF-8, found another encoding; save the file in UTF-8");
  std::size_t depth = 0;
  for (std::size_t at = text.find('<'); at < text.size(); at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!--")) {
      at = end_of_section(text, at, "<!--", "-->");
    } else if (rest.starts_with("<![CDATA[")) {
      at = end_of_section(text, at, "<![CDATA[", "]]>");
    } else if (rest.starts_with("<?")) {
      at = end_of_section(text, at, "<?", "?>");
    } else {
      const std::size_t end = end_of_tag(text, at);
      if (rest.starts_with("<!")) {
        if (text.substr(at, end - at).find('[') != std::string_view::npos) {
          refuse(at, "expected XML without entity declarations, found a document type with some; remove it");
        }
      } else if (rest.starts_with("</")) {
        depth -= std::min<std::size_t>(depth, 1);
      } else if (end == text.size() || text[end - 1] != '/') {
        if (++depth > max_xml_depth) {
          refuse(at, fmt::format("expected at most {} nested elements, found more", max_xml_depth));
        }
      }
      at = end;
    }
  }
}

std::size_t line_of_offset(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
}

}  // namespace heelstrike
