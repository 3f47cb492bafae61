/// Round-trip time of one pair through the real contact service, compared with a bare gRPC bidirectional echo of the
/// same message sizes in the same process, over TCP and over a Unix socket. Prints medians and their ratio at the end;
/// the target ratio is at most 1.1. Blocks of both alternate, so that machine load affects both equally.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fem_server/service/contact_service.hpp"
#include "rpc/remote_contact.hpp"
#include "rpc/server/listener.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace {

using namespace heelstrike;
using Raw = grpc::ByteBuffer;
using Stream = grpc::ServerReaderWriter<Raw, Raw>;

constexpr char echo_method[] = "/heelstrike.bench.Echo/Exchange";

Raw bytes(std::size_t n) {
  const grpc::Slice slice(std::string(n, 'x'));
  return {&slice, 1};
}

/// Replies to every message with a prepared one, without parsing.
class EchoService final : public grpc::Service {
 public:
  explicit EchoService(std::size_t reply_bytes) : reply_(bytes(reply_bytes)) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        echo_method, grpc::internal::RpcMethod::BIDI_STREAMING,
        new grpc::internal::BidiStreamingHandler<EchoService, Raw, Raw>(
            [](EchoService* service, grpc::ServerContext*, Stream* stream) { return service->echo(*stream); }, this)));
  }

 private:
  grpc::Status echo(Stream& stream) {
    Raw request;
    while (stream.Read(&request) && stream.Write(reply_)) {
    }
    return grpc::Status::OK;
  }
  Raw reply_;
};

class EchoClient {
 public:
  EchoClient(const std::string& address, std::size_t request_bytes)
      : channel_(rpc::make_channel({.address = address, .tls = {}})),
        method_(echo_method, grpc::internal::RpcMethod::BIDI_STREAMING, channel_),
        stream_(grpc::internal::ClientReaderWriterFactory<Raw, Raw>::Create(channel_.get(), method_, &context_)),
        request_(bytes(request_bytes)) {}
  ~EchoClient() {
    stream_->WritesDone();
    (void)stream_->Finish();
  }
  void exchange() {
    Raw reply;
    if (!stream_->Write(request_) || !stream_->Read(&reply)) throw std::runtime_error("the echo stream failed");
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  grpc::internal::RpcMethod method_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<Raw, Raw>> stream_;
  Raw request_;
};

PairSpec pair() {
  PairSpec spec;
  spec.name = "ball-ground";
  spec.backend = "flores";
  spec.parameters = {{"stiffness", 1.4e8}, {"restitution", 0.8}};
  spec.main = {.name = "ball", .surface = SphereSurface{.radius = 0.1}, .materials = {}};
  spec.partner = {.name = "ground", .surface = PlaneSurface{}, .materials = {}};
  return spec;
}

/// Ball 1e-5 m deep in the ground.
PairState touching() {
  PairState state;
  state.X_AB.p = {0.01, 0.02, -0.1 + 1e-5};
  state.V_AB.v = {0.0, 0.0, 1.0};
  return state;
}

std::pair<std::size_t, std::size_t> message_sizes() {
  v1::ExchangeRequest request;
  request.set_sequence(1000);
  request.set_kind(v1::ExchangeRequest::KIND_EVALUATE);
  request.add_pairs()->set_step(-1);
  PairState state = touching();
  state.t = 1.0;
  state.V_AB = {.w = {1, 2, 3}, .v = {1, 2, 3}};
  wire::to_proto(state, *request.mutable_pairs(0)->mutable_state());
  v1::ExchangeResponse reply;
  reply.set_sequence(1000);
  Response response;
  response.F_A = {.torque = {1, 2, 3}, .force = {1, 2, 3}};
  response.dF_A_dX.setOnes();
  response.dF_A_dV.setOnes();
  response.gap = response.gap_rate = response.area = response.peak_pressure = response.stored_energy = 1.0;
  response.dissipated_power = 1.0;
  response.p_ACop.setOnes();
  response.statistics.active_points = 1;
  response.bound = {.known = true, .normal = Vector3::UnitZ(), .flat = true};
  wire::to_proto(response, *reply.add_pairs()->mutable_result());
  reply.set_server_time(1e-6);
  return {request.ByteSizeLong(), reply.ByteSizeLong()};
}

using Samples = std::map<std::string, std::vector<double>>;

Samples& samples() {
  static Samples all;
  return all;
}

void record(benchmark::State& state, const std::string& name, const std::function<void()>& exchange) {
  auto& times = samples()[name];
  for (int i = 0; i < 100; ++i) exchange();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    exchange();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
}

double median(std::vector<double> times) {
  if (times.empty()) return 0.0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

void print_ratios(std::pair<std::size_t, std::size_t> sizes) {
  fmt::print("\nrequest {} bytes, reply {} bytes\n{:<8}{:>14}{:>14}{:>8}\n", sizes.first, sizes.second, "",
             "exchange us", "echo us", "ratio");
  for (const std::string transport : {"tcp", "unix"}) {
    const double exchange = median(samples()["exchange/" + transport]);
    const double echo = median(samples()["echo/" + transport]);
    fmt::print("{:<8}{:>14.1f}{:>14.1f}{:>8.2f}\n", transport, exchange, echo, exchange / echo);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  spdlog::set_level(spdlog::level::warn);
  const auto sizes = message_sizes();
  const std::string socket = fmt::format("unix:/tmp/heelstrike-bench-{}.sock", ::getpid());
  fem::ContactServiceImpl service({}, {});
  EchoService echo(sizes.second);
  const rpc::ListenOptions options{.addresses = {"127.0.0.1:0", socket}, .tls = {}, .message_sockets = true};
  rpc::Listener listener(options);
  grpc::ServerBuilder builder;
  listener.configure(builder);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server;  // outlives the exchange
  const auto exchange = service.serve_exchange(builder, 8);
  builder.RegisterService(&echo);
  server = builder.BuildAndStart();
  exchange->start(*server);
  listener.start([&](int connection) { exchange->take_socket(connection, options.max_message_bytes); });
  const std::vector<std::string> addresses = listener.bound_addresses();
  {
    std::vector<std::unique_ptr<Contact>> contacts;
    std::vector<std::unique_ptr<EchoClient>> echoes;
    const std::string names[] = {"tcp", "unix"};
    for (std::size_t i = 0; i < 2; ++i) {
      const PairSpec pairs[] = {pair()};
      contacts.push_back(rpc::open_remote_contact({.endpoint = {.address = addresses[i], .tls = {}}})(pairs, {}, {}));
      echoes.push_back(std::make_unique<EchoClient>(addresses[i], sizes.first));
      Contact& contact = *contacts.back();
      EchoClient& bare = *echoes.back();
      benchmark::RegisterBenchmark(("exchange/" + names[i]).c_str(),
                                   [&contact, &names, i](benchmark::State& state) {
                                     const PairState states[] = {touching()};
                                     Response responses[1];
                                     record(state, "exchange/" + names[i],
                                            [&] { contact.evaluate(-1, 0, states, responses); });
                                   })
          ->Iterations(500)
          ->Repetitions(20)
          ->ReportAggregatesOnly()
          ->UseRealTime();
      benchmark::RegisterBenchmark(
          ("echo/" + names[i]).c_str(),
          [&bare, &names, i](benchmark::State& state) { record(state, "echo/" + names[i], [&] { bare.exchange(); }); })
          ->Iterations(500)
          ->Repetitions(20)
          ->ReportAggregatesOnly()
          ->UseRealTime();
    }
    benchmark::RunSpecifiedBenchmarks();
  }
  print_ratios(sizes);
  listener.stop();
  exchange->shut_down_sockets();
  server->Shutdown();
}
