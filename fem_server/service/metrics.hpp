/// Server metrics for Prometheus. Counting is always active (a few atomic additions per call); the page is optional.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <chrono>
#include <memory>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

class Metrics {
 public:
  Metrics();

  void session_opened() { sessions_opened_.Increment(); }
  void set_open_sessions(std::size_t n) { sessions_open_.Set(static_cast<double>(n)); }
  /// Counts a stream during its lifetime.
  class OpenStream {
   public:
    explicit OpenStream(Metrics& metrics) : metrics_(metrics) { metrics_.streams_open_.Increment(); }
    ~OpenStream() { metrics_.streams_open_.Decrement(); }
    OpenStream(const OpenStream&) = delete;
    OpenStream& operator=(const OpenStream&) = delete;

   private:
    Metrics& metrics_;
  };
  void evaluated(std::chrono::steady_clock::duration duration);
  void committed() { commits_.Increment(); }
  void failed(ErrorCode code) { errors_[static_cast<std::size_t>(code)]->Increment(); }

  [[nodiscard]] const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Counter& sessions_opened_;
  prometheus::Gauge& sessions_open_;
  prometheus::Gauge& streams_open_;
  prometheus::Counter& evaluations_;
  prometheus::Counter& commits_;
  prometheus::Histogram& latency_;
  std::array<prometheus::Counter*, static_cast<std::size_t>(ErrorCode::internal) + 1> errors_{};
};

}  // namespace heelstrike::fem
