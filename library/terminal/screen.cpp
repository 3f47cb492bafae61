#include "library/terminal/screen.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

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

std::string file_link(const std::filesystem::path& file) {
  std::string link = "file://";
  for (const unsigned char c : std::filesystem::absolute(file).lexically_normal().string()) {
    const bool is_plain =
        std::isalnum(c) != 0 || std::string_view("/-._~+,@:=").find(static_cast<char>(c)) != std::string_view::npos;
    link += is_plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return link;
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

namespace {

constexpr std::chrono::milliseconds redraw_distance{100};
constexpr std::chrono::seconds line_distance{5};
constexpr std::size_t max_bar_width = 30;
constexpr std::size_t min_bar_width = 8;

double fraction_of(const Progress& progress) {
  if (!progress.stage.empty()) return std::clamp(progress.fraction, 0.0, 1.0);
  return progress.end_time > 0.0 ? std::clamp(progress.time / progress.end_time, 0.0, 1.0) : 0.0;
}

bool has_no_fraction(const Progress& progress) {
  return !progress.stage.empty() && progress.fraction < 0.0;
}

std::string clock_text(double seconds) {
  const long whole = std::lround(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_text(const Progress& progress, double elapsed_s) {
  const double fraction = fraction_of(progress);
  if (has_no_fraction(progress)) return fmt::format("{}  {} so far", progress.stage, clock_text(elapsed_s));
  if (!progress.stage.empty()) {
    return fmt::format("{:3.0f} %  preparing the contact: {}  {} so far", 100.0 * fraction, progress.stage,
                       clock_text(elapsed_s));
  }
  std::string text = fmt::format("{:3.0f} %  {:.3f} of {:g} s", 100.0 * fraction, progress.time, progress.end_time);
  if (elapsed_s > 0.0 && progress.time > 0.0) {
    text += fmt::format("  {:.3g}x real time  {} left", progress.time / elapsed_s,
                        clock_text(elapsed_s * (1.0 - fraction) / std::max(fraction, 1e-9)));
  }
  return text;
}

std::string progress_line(const std::string& label, const std::string& text, double fraction, std::size_t width) {
  constexpr std::size_t around_bar = 4;  // blanks and brackets
  const std::size_t words = label.size() + text.size() + around_bar;
  // A line that the terminal wraps cannot be overwritten: the last column stays free.
  std::size_t bar = max_bar_width;
  if (width > 0) bar = width > words + 1 ? std::min(max_bar_width, width - words - 1) : 0;
  if (bar < min_bar_width) return width > 1 ? fmt::format("{} {}", label, text).substr(0, width - 1) : text;
  const auto filled = static_cast<std::size_t>(fraction * static_cast<double>(bar));
  return fmt::format("{} [{:#<{}}{:.<{}}] {}", label, "", filled, "", bar - filled, text);
}

ProgressDisplay::ProgressDisplay(std::string label, bool quiet)
    : label_(std::move(label)), quiet_(quiet), on_terminal_(::isatty(STDERR_FILENO) != 0), last_(started_) {}

ProgressDisplay::~ProgressDisplay() {
  clear();
}

bool ProgressDisplay::is_due(std::chrono::steady_clock::time_point now) {
  if (quiet_ || now - last_ < (on_terminal_ ? std::chrono::milliseconds(redraw_distance) : line_distance)) return false;
  last_ = now;
  return true;
}

void ProgressDisplay::show(const Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_due(now)) return;
  const std::string text = progress_text(progress, std::chrono::duration<double>(now - started_).count());
  if (!on_terminal_) {
    fmt::print(stderr, "{}: {}\n", label_, text);
    return;
  }
  drawn_ = true;
  if (has_no_fraction(progress)) {
    fmt::print(stderr, "\r\033[K{} {}", label_, text);
  } else {
    fmt::print(stderr, "\r\033[K{}", progress_line(label_, text, fraction_of(progress), screen_width(Stream::err)));
  }
  std::fflush(stderr);
}

void ProgressDisplay::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace heelstrike
