#include "report/contact_windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace heelstrike::report {

namespace {

constexpr std::size_t max_windows = 200;
/// Fraction of the time below which contacts are mere spikes in a view of the whole run.
constexpr double spikes = 0.2;
constexpr double max_window_fraction = 0.8;
constexpr double margin_of_one = 0.3, margin_of_all = 0.05;

/// Uninterrupted contact of any pair.
struct Stretch {
  double from = 0.0, to = 0.0;  ///< [s]
  double force = 0.0;           ///< [N]
};

struct RunStretches {
  std::string label;
  std::vector<Stretch> stretches;
};

std::vector<Stretch> merged(std::vector<Stretch> episodes) {
  std::ranges::sort(episodes, {}, &Stretch::from);
  std::vector<Stretch> result;
  for (const Stretch& e : episodes) {
    if (!result.empty() && e.from <= result.back().to) {
      result.back().to = std::max(result.back().to, e.to);
      result.back().force = std::max(result.back().force, e.force);
    } else {
      result.push_back(e);
    }
  }
  std::erase_if(result, [](const Stretch& s) { return !(s.to > s.from); });
  return result;
}

/// @param with_impacts  of rigid bodies, whose contacts last one step
std::vector<Stretch> episodes_of(const RunData& run, bool with_impacts) {
  std::vector<Stretch> episodes;
  if (!run.summary) return episodes;
  for (const ContactEpisode& e : run.summary->contacts) {
    if (e.max_impulse && !with_impacts) continue;
    episodes.push_back({.from = e.onset, .to = e.end.value_or(run.summary->simulated_time), .force = e.max_force});
  }
  return episodes;
}

TimeWindow with_margin(const TimeWindow& window, double share, const TimeWindow& whole) {
  const double margin = share * (window[1] - window[0]);
  return {std::max(whole[0], window[0] - margin), std::min(whole[1], window[1] + margin)};
}

class WindowList {
 public:
  explicit WindowList(const TimeWindow& whole) : whole_(whole) {}
  void add(const std::string& label, double from, double to) {
    if (list_.size() == max_windows) return;
    list_.push_back({.label = label, .contact = {from, to}, .shown = with_margin({from, to}, margin_of_one, whole_)});
  }
  [[nodiscard]] std::vector<ContactWindow> list() && { return std::move(list_); }

 private:
  TimeWindow whole_;
  std::vector<ContactWindow> list_;
};

/// The k-th contacts of all runs that have one.
void add_common(WindowList& list, const std::vector<RunStretches>& runs, std::size_t k) {
  double from = std::numeric_limits<double>::infinity(), last_from = -from, to = -from, first_to = from;
  std::vector<const RunStretches*> with;
  for (const RunStretches& run : runs) {
    if (run.stretches.size() <= k) continue;
    const Stretch& s = run.stretches[k];
    from = std::min(from, s.from);
    last_from = std::max(last_from, s.from);
    to = std::max(to, s.to);
    first_to = std::min(first_to, s.to);
    with.push_back(&run);
  }
  const std::string label = fmt::format("contact {}", k + 1);
  if (with.size() > 1) list.add(label + (last_from < first_to ? "" : ", all"), from, to);
  if (with.size() > 1 && last_from < first_to) return;
  for (const RunStretches* run : with) {
    list.add(fmt::format("{}, {}", label, run->label), run->stretches[k].from, run->stretches[k].to);
  }
}

/// In walking one foot is always loaded: the choice is then from stance to stance.
void add_episodes(WindowList& list, const RunData& run) {
  std::vector<ContactEpisode> episodes = run.summary->contacts;
  std::ranges::stable_sort(episodes, {}, &ContactEpisode::onset);
  for (const ContactEpisode& e : episodes) {
    const double end = e.end.value_or(run.summary->simulated_time);
    if (end > e.onset) list.add(e.pair, e.onset, end);
  }
}

std::optional<TimeWindow> opening(const std::vector<RunStretches>& runs, const TimeWindow& whole) {
  double from = std::numeric_limits<double>::infinity(), to = -from, loaded = 0.0;
  for (const RunStretches& run : runs) {
    from = std::min(from, run.stretches.front().from);
    to = std::max(to, run.stretches.back().to);
    loaded = std::max(loaded, std::accumulate(run.stretches.begin(), run.stretches.end(), 0.0,
                                              [](double sum, const Stretch& s) { return sum + s.to - s.from; }));
  }
  double margin = margin_of_all;
  if (loaded <= spikes * (whole[1] - whole[0])) {
    margin = margin_of_one;
    const auto& own = runs.front().stretches;
    Stretch shown = runs.size() == 1 ? *std::ranges::max_element(own, {}, &Stretch::force) : own.front();
    for (const RunStretches& run : runs.size() == 1 ? std::span<const RunStretches>() : std::span(runs)) {
      shown.from = std::min(shown.from, run.stretches.front().from);
      shown.to = std::max(shown.to, run.stretches.front().to);
    }
    from = shown.from;
    to = shown.to;
  }
  const TimeWindow window = with_margin({from, to}, margin, whole);
  if (window[1] - window[0] > max_window_fraction * (whole[1] - whole[0])) return std::nullopt;
  return window;
}

}  // namespace

ContactWindows contact_windows(std::span<const RunData> runs) {
  ContactWindows windows{.list = {},
                         .first = {},
                         .whole = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}};
  std::vector<RunStretches> with_contact, with_duration;
  const RunData* last = nullptr;
  for (const RunData& run : runs) {
    if (run.series.rows() < 2) continue;
    windows.whole[0] = std::min(windows.whole[0], run.series.values.front());
    windows.whole[1] =
        std::max(windows.whole[1], run.series.values[(run.series.rows() - 1) * run.series.columns.size()]);
    std::vector<Stretch> stretches = merged(episodes_of(run, true));
    if (stretches.empty()) continue;
    if (std::vector<Stretch> lasting = merged(episodes_of(run, false)); !lasting.empty()) {
      with_duration.push_back({.label = run.label, .stretches = std::move(lasting)});
    }
    with_contact.push_back({.label = run.label, .stretches = std::move(stretches)});
    last = &run;
  }
  if (with_contact.empty()) return windows;
  WindowList list(windows.whole);
  if (with_contact.size() == 1 && with_contact[0].stretches.size() == 1 && last->summary->contacts.size() > 1) {
    add_episodes(list, *last);
  } else if (with_contact.size() == 1) {
    const auto& own = with_contact[0].stretches;
    for (std::size_t k = 0; k < own.size(); ++k) list.add(fmt::format("contact {}", k + 1), own[k].from, own[k].to);
  } else {
    std::size_t n = 0;
    for (const RunStretches& run : with_contact) n = std::max(n, run.stretches.size());
    for (std::size_t k = 0; k < n; ++k) add_common(list, with_contact, k);
  }
  if (!with_duration.empty()) windows.first = opening(with_duration, windows.whole);
  windows.list = std::move(list).list();
  return windows;
}

Json windows_json(std::span<const RunData> runs) {
  const ContactWindows windows = contact_windows(runs);
  if (!(windows.whole[1] > windows.whole[0])) return {};
  Json json = {
      {"list", Json::array()}, {"first", windows.first ? Json(*windows.first) : Json()}, {"whole", windows.whole}};
  for (const ContactWindow& w : windows.list) {
    json["list"].push_back({{"label", w.label}, {"from", w.contact[0]}, {"to", w.contact[1]}, {"window", w.shown}});
  }
  return json;
}

}  // namespace heelstrike::report
