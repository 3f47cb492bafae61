#include "rpc/metrics_page.hpp"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <utility>

#include "common/errors/error.hpp"
#include "common/http/http_server.hpp"

namespace heelstrike {
namespace {

struct HostAndPort {
  std::string host;
  int port = 0;
};

HostAndPort parse(const std::string& address) {
  const auto colon = address.rfind(':');
  HostAndPort result;
  const char* end = address.data() + address.size();
  if (colon != std::string::npos) {
    result.host = address.substr(0, colon);
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, result.port);
    if (error != std::errc() || stop != end) result.port = 0;
  }
  if (result.host.size() > 2 && result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  }
  if (result.host.empty() || result.port < 1 || result.port > 65535) {
    throw input_error("metrics",
                      fmt::format("--metrics: expected host:port, e.g. 127.0.0.1:9090, found '{}'", address));
  }
  return result;
}

}  // namespace

class MetricsPage::Server {
 public:
  Server(const std::string& address, std::shared_ptr<prometheus::Collectable> metrics) : metrics_(std::move(metrics)) {
    const auto [host, port] = parse(address);
    http_.routes().Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(prometheus::TextSerializer().Serialize(metrics_->Collect()),
                           "text/plain; version=0.0.4; charset=utf-8");
    });
    (void)http_.bind(host, port);
    http_.run();
  }

 private:
  std::shared_ptr<prometheus::Collectable> metrics_;
  HttpServer http_;
};

MetricsPage::MetricsPage(const std::string& address, std::shared_ptr<prometheus::Collectable> metrics)
    : server_(std::make_unique<Server>(address, std::move(metrics))) {}

MetricsPage::~MetricsPage() = default;

std::unique_ptr<MetricsPage> serve_metrics(const std::string& address,
                                           std::shared_ptr<prometheus::Collectable> metrics) {
  if (address.empty()) return nullptr;
  auto page = std::make_unique<MetricsPage>(address, std::move(metrics));
  spdlog::info("event=metrics address={} path=/metrics", address);
  return page;
}

}  // namespace heelstrike
