#include "mbs_server/service/run_metrics.hpp"

#include <string>

namespace heelstrike::mbs {
namespace {

prometheus::MetricFamily counter(const std::string& name, const std::string& help, std::uint64_t value) {
  prometheus::ClientMetric metric;
  metric.counter.value = static_cast<double>(value);
  return {name, help, prometheus::MetricType::Counter, {metric}};
}

prometheus::MetricFamily gauge(const std::string& name, const std::string& help, double value) {
  prometheus::ClientMetric metric;
  metric.gauge.value = value;
  return {name, help, prometheus::MetricType::Gauge, {metric}};
}

}  // namespace

std::vector<prometheus::MetricFamily> RunMetrics::Collect() const {
  const RunCounters& counters = store_.counters();
  return {counter("heelstrike_runs_started_total", "Runs started", counters.started),
          counter("heelstrike_runs_completed_total", "Runs that reached their end time", counters.completed),
          counter("heelstrike_runs_incomplete_total", "Runs that reached their end without some of their frames",
                  counters.incomplete),
          counter("heelstrike_runs_failed_total", "Runs that failed", counters.failed),
          counter("heelstrike_runs_cancelled_total", "Runs stopped on request", counters.cancelled),
          counter("heelstrike_runs_resumed_total", "Runs resumed after the termination of an earlier server",
                  counters.resumed),
          counter("heelstrike_steps_total", "Integrator steps of runs that have ended", counters.steps),
          gauge("heelstrike_runs_running", "Active runs", store_.n_running()),
          gauge("heelstrike_watchers", "Clients watching a run", service_.n_watchers())};
}

}  // namespace heelstrike::mbs
