#include "fem_server/service/metrics.hpp"

#include <string>

namespace heelstrike::fem {

namespace {

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

/// [s] half decades from 10 us: a point law takes a microsecond, a condensed mesh milliseconds, a full-order one
/// seconds.
const prometheus::Histogram::BucketBoundaries latency_bounds = {10e-6, 30e-6,  100e-6, 300e-6, 1e-3, 3e-3, 10e-3,
                                                                30e-3, 100e-3, 300e-3, 1.0,    3.0,  10.0};

}  // namespace

Metrics::Metrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      sessions_opened_(counter(*registry_, "heelstrike_sessions_opened_total", "Contact sessions opened")),
      sessions_open_(gauge(*registry_, "heelstrike_sessions_open", "Contact sessions open now")),
      streams_open_(gauge(*registry_, "heelstrike_exchange_streams_open", "Exchange streams open now")),
      evaluations_(counter(*registry_, "heelstrike_evaluations_total", "Contact evaluations, all pairs and calls")),
      commits_(counter(*registry_, "heelstrike_commits_total", "Committed steps, counted per pair")),
      latency_(prometheus::BuildHistogram()
                   .Name("heelstrike_evaluation_seconds")
                   .Help("Time of one contact evaluation in the server, without the wire")
                   .Register(*registry_)
                   .Add({}, latency_bounds)) {
  auto& errors = prometheus::BuildCounter()
                     .Name("heelstrike_errors_total")
                     .Help("Errors returned to clients, by code")
                     .Register(*registry_);
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    std::string code(to_string(static_cast<ErrorCode>(i)));
    for (char& c : code) c = c == ' ' ? '_' : c;
    errors_[i] = &errors.Add({{"code", code}});
  }
}

void Metrics::evaluated(std::chrono::steady_clock::duration duration) {
  evaluations_.Increment();
  latency_.Observe(std::chrono::duration<double>(duration).count());
}

}  // namespace heelstrike::fem
