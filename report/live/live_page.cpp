#include "report/live/live_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "common/errors/error.hpp"
#include "common/http/http_server.hpp"
#include "report/columns.hpp"
#include "report/html.hpp"
#include "report/packing.hpp"

namespace heelstrike {
namespace {

using report::Json;

constexpr const char* host = "127.0.0.1";
constexpr std::size_t samples_per_curve = 600;  // more than the pixels of a chart
constexpr std::size_t cells_per_map = 200;
constexpr const char* policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";
constexpr const char* token_header = "X-Heelstrike-Token";

constexpr const char* page_text = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="live.css">
<title>Heelstrike: live</title>
</head>
<body>
<header><h1>Runs</h1><span id="source" class="note"></span></header>
<main id="live"><p class="needs-script note">The runs appear here when scripts are allowed.</p></main>
<script src="live.js"></script>
</body>
</html>
)";

/// 128 unpredictable bits as hexadecimal digits.
std::string make_token() {
  std::random_device device;  // the kernel's random numbers
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", static_cast<std::uint32_t>(device()));
  return token;
}

/// Constant-time comparison.
bool same_token(const std::string& expected, const std::string& found) {
  if (expected.size() != found.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference |= static_cast<unsigned char>(expected[i]) ^ static_cast<unsigned char>(found[i]);
  }
  return difference == 0;
}

Json state_json(const LiveState& s) {
  return {{"state", s.state},
          {"note", s.note},
          {"time", s.progress.time},
          {"end_time", s.progress.end_time},
          {"step", s.progress.step},
          {"step_size", s.progress.step_size},
          {"wall_time", s.progress.wall_time},
          {"stage", s.progress.stage},
          {"fraction", s.progress.fraction},
          {"rows", s.rows},
          {"pace", s.pace},
          {"remaining", s.remaining}};
}

Json curve_json(const LiveCurve& curve, const report::ColumnName& name) {
  Json json = {{"name", curve.name}, {"owner", name.owner}, {"short", name.short_name}, {"quantity", name.quantity},
               {"unit", name.unit},  {"last", curve.last},  {"time", Json::array()},    {"value", Json::array()}};
  for (const Sample& sample : curve.samples) {
    json["time"].push_back(sample.time);
    json["value"].push_back(sample.value);
  }
  return json;
}

Json run_json(const LiveRun& run) {
  Json json = {{"version", run.version()}, {"state", state_json(run.state())}};
  json["curves"] = Json::array();
  const std::vector<std::string> columns = run.columns();
  const std::vector<report::ColumnName> names = report::read_column_names(columns);
  for (const LiveCurve& curve : run.curves(samples_per_curve)) {
    const auto column = std::ranges::find(columns, curve.name);
    // The schema may have changed in between.
    json["curves"].push_back(curve_json(curve, column == columns.end()
                                                   ? report::read_column_name(curve.name)
                                                   : names[static_cast<std::size_t>(column - columns.begin())]));
  }
  json["maps"] = Json::array();
  for (const LiveMap& map : run.maps(cells_per_map)) {
    json["maps"].push_back({{"name", map.name},
                            {"time", map.time},
                            {"latest", report::plan_view_json(map.latest, map.peak_pressure)},
                            {"peak", report::plan_view_json(map.peak, map.peak_pressure)}});
  }
  return json;
}

int http_status(const Error& error) {
  switch (error.code()) {
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::limit:
      return 429;
    case ErrorCode::unavailable:
    case ErrorCode::deadline:
      return 503;
    default:
      return 500;
  }
}

void send_response(httplib::Response& response, int status, const Json& json) {
  response.status = status;
  // Names may be invalid UTF-8; a replacement character is better than no response.
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace), "application/json");
}

}  // namespace

class LivePage::Server {
 public:
  Server(LiveRuns& runs, const LivePageOptions& options)
      : runs_(runs), token_(options.allow_stop && runs.can_cancel() ? make_token() : std::string()) {
    httplib::Server& http = http_.routes();
    http.set_payload_max_length(1024);
    http.set_pre_routing_handler([this](const auto& request, auto& response) { return check(request, response); });
    add_routes(http);
    port_ = http_.bind(host, options.port);
    http_.run();
  }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  using Handled = httplib::Server::HandlerResponse;

  Handled check(const httplib::Request& request, httplib::Response& response) const {
    response.set_header("Content-Security-Policy", policy);
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Cache-Control", "no-store");
    const std::string name = request.get_header_value("Host");
    if (name == fmt::format("{}:{}", host, port_) || name == fmt::format("localhost:{}", port_))
      return Handled::Unhandled;
    send_response(response, 403, {{"error", "this page is served only to the local machine"}});
    return Handled::Handled;
  }

  template <class Action>
  static void guarded(httplib::Response& response, const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      send_response(response, http_status(error), {{"error", error.what()}});
    }
  }

  void add_routes(httplib::Server& http) {
    http.Get("/", [](const auto&, auto& response) { response.set_content(page_text, "text/html; charset=utf-8"); });
    http.Get("/live.js", [](const auto&, auto& response) {
      response.set_content(std::string(report::live_script()), "text/javascript; charset=utf-8");
    });
    http.Get("/live.css", [](const auto&, auto& response) {
      response.set_content(std::string(report::style_sheet()), "text/css; charset=utf-8");
    });
    http.Get("/api/runs", [this](const auto&, auto& response) { guarded(response, [&] { list(response); }); });
    http.Get(R"(/api/runs/([A-Za-z0-9._-]{1,64}))",
             [this](const auto& request, auto& response) { guarded(response, [&] { show(request, response); }); });
    http.Post(R"(/api/runs/([A-Za-z0-9._-]{1,64})/cancel)",
              [this](const auto& request, auto& response) { guarded(response, [&] { cancel(request, response); }); });
  }

  void list(httplib::Response& response) {
    Json json = {{"source", runs_.source()}, {"can_stop", !token_.empty()}, {"runs", Json::array()}};
    for (const LiveRunEntry& run : runs_.list()) {
      json["runs"].push_back({{"id", run.id}, {"label", run.label}, {"state", state_json(run.state)}});
    }
    send_response(response, 200, json);
  }

  void show(const httplib::Request& request, httplib::Response& response) {
    const auto run = runs_.find(request.matches[1]);
    if (request.get_param_value("have") == std::to_string(run->version())) {
      response.status = 204;
      return;
    }
    send_response(response, 200, run_json(*run));
  }

  void cancel(const httplib::Request& request, httplib::Response& response) {
    if (token_.empty()) {
      send_response(response, 403, {{"error", "this page is read-only; start it with --allow-stop to stop runs"}});
    } else if (!same_token(token_, request.get_header_value(token_header))) {
      send_response(response, 403, {{"error", "the address of the page lacks the token; open the printed address"}});
    } else {
      runs_.cancel(request.matches[1]);
      send_response(response, 200, Json::object());
    }
  }

  LiveRuns& runs_;
  const std::string token_;  ///< empty = stopping runs is disabled
  int port_ = -1;
  HttpServer http_;  ///< last, because its handlers use the others
};

LivePage::LivePage(LiveRuns& runs, const LivePageOptions& options) : server_(std::make_unique<Server>(runs, options)) {}

LivePage::~LivePage() = default;

int LivePage::port() const {
  return server_->port();
}

std::string LivePage::url() const {
  const std::string address = fmt::format("http://{}:{}/", host, server_->port());
  return server_->token().empty() ? address : address + "#token=" + server_->token();
}

}  // namespace heelstrike
