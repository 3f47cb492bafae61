/// Metrics of the multibody server for Prometheus; read from the store on each request.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "mbs_server/service/run_store.hpp"
#include "mbs_server/service/simulation_service.hpp"

namespace heelstrike::mbs {

class RunMetrics : public prometheus::Collectable {
 public:
  /// Both outlive the metrics.
  RunMetrics(const RunStore& store, const SimulationService& service) : store_(store), service_(service) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const RunStore& store_;
  const SimulationService& service_;
};

}  // namespace heelstrike::mbs
