#include "library/terminal/screen.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "common/errors/plain_text.hpp"

namespace heelstrike {
namespace {

int descriptor_of(Stream stream) {
  return stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO;
}

bool has_colours(Stream stream) {
  if (::isatty(descriptor_of(stream)) == 0) return false;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr && std::string_view(terminal) != "dumb";
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::red:
      return "31";
    case Colour::yellow:
      return "33";
    case Colour::green:
      return "32";
    case Colour::cyan:
      return "36";
  }
  return "0";
}

/// The text without its numbers.
std::string kind_of(std::string_view text) {
  std::string kind;
  for (const char c : text) {
    const bool of_number = std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '+';
    if (!of_number) kind += c;
  }
  return kind;
}

}  // namespace

std::size_t screen_width(Stream stream) {
  winsize size{};
  if (::isatty(descriptor_of(stream)) != 0 && ::ioctl(descriptor_of(stream), TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    return size.ws_col;
  }
  const char* columns = std::getenv("COLUMNS");
  std::size_t width = 0;
  if (columns != nullptr) {
    const std::string_view text(columns);
    if (std::from_chars(text.data(), text.data() + text.size(), width).ec != std::errc()) return 0;
  }
  return width;
}

std::string coloured(std::string_view text, Colour colour, Stream stream) {
  if (!has_colours(stream)) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code_of(colour), text);
}

void print_message(std::string_view level, std::string_view text) {
  const Colour colour = level == "error" ? Colour::red : level == "warning" ? Colour::yellow : Colour::cyan;
  fmt::print(stderr, "heelstrike: {}: {}\n", coloured(strip_control_characters(level), colour, Stream::err),
             strip_control_characters(text));
}

std::string coloured_status(const std::string& status, Stream stream) {
  const bool partly = status == "incomplete" || status == "cancelled";
  return coloured(status, status == "completed" ? Colour::green : partly ? Colour::yellow : Colour::red, stream);
}

bool RepeatedMessages::is_first(std::string_view level, std::string_view text) {
  Kind& kind = kinds_[fmt::format("{} {}", level, kind_of(text))];
  if (kind.n++ > 0) return false;
  kind.level = level;
  kind.first = text;
  return true;
}

void RepeatedMessages::print_repeat_counts(std::string_view where) const {
  constexpr std::size_t shown = 60;
  for (const auto& [text, kind] : kinds_) {
    if (kind.n < 2) continue;
    const bool is_long = kind.first.size() > shown;
    print_message(kind.level, fmt::format("{} more like \"{}{}\"; all are in {}", kind.n - 1,
                                          kind.first.substr(0, shown), is_long ? " ..." : "", where));
  }
}

}  // namespace heelstrike
