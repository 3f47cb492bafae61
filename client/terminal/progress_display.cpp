#include "client/terminal/progress_display.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace heelstrike::client {
namespace {

constexpr std::chrono::milliseconds redraw_distance{100};
constexpr std::chrono::seconds line_distance{5};
constexpr int bar_width = 30;

double fraction_of(const Progress& progress) {
  if (!progress.stage.empty()) return std::clamp(progress.fraction, 0.0, 1.0);
  return progress.end_time > 0.0 ? std::clamp(progress.time / progress.end_time, 0.0, 1.0) : 0.0;
}

bool has_no_fraction(const Progress& progress) {
  return !progress.stage.empty() && progress.fraction < 0.0;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
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

ProgressDisplay::ProgressDisplay(std::string label, bool quiet)
    : label_(std::move(label)), quiet_(quiet), on_terminal_(::isatty(STDERR_FILENO) != 0), last_(started_) {}

ProgressDisplay::~ProgressDisplay() {
  clear();
}

void ProgressDisplay::show(const Progress& progress) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (on_terminal_ ? std::chrono::milliseconds(redraw_distance) : line_distance)) return;
  last_ = now;
  const std::string text = progress_text(progress, std::chrono::duration<double>(now - started_).count());
  if (!on_terminal_) {
    fmt::print(stderr, "{}: {}\n", label_, text);
    return;
  }
  drawn_ = true;
  if (has_no_fraction(progress)) {
    fmt::print(stderr, "\r\033[K{} {}", label_, text);
    std::fflush(stderr);
    return;
  }
  const int filled = static_cast<int>(fraction_of(progress) * bar_width);
  fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {}", label_, "", filled, "", bar_width - filled, text);
  std::fflush(stderr);
}

void ProgressDisplay::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace heelstrike::client
