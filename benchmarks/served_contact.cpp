#include "benchmarks/served_contact.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include "fem_server/service/contact_service.hpp"
#include "rpc/channel.hpp"
#include "rpc/server/listener.hpp"

namespace heelstrike {
namespace {

using Pipe = std::array<int, 2>;

Pipe make_pipe() {
  Pipe ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("cannot create a pipe to the contact service");
  return ends;
}

void serve(const std::string& cache, int responses, int alive) {
  fem::ContactServiceImpl service({}, {}, cache);
  // Option to measure without message sockets.
  const rpc::ListenOptions options{
      .addresses = {fmt::format("unix:/tmp/heelstrike-bench-{}.sock", ::getpid()), "127.0.0.1:0"},
      .tls = {},
      .message_sockets = std::getenv("HEELSTRIKE_BENCH_THROUGH_CALLS") == nullptr};
  rpc::Listener listener(options);
  grpc::ServerBuilder builder;
  listener.configure(builder);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server;  // outlives the exchange
  const auto exchange = service.serve_exchange(builder, 8);
  server = builder.BuildAndStart();
  exchange->start(*server);
  listener.start([&](int connection) { exchange->take_socket(connection, options.max_message_bytes); });
  std::string text;
  for (const std::string& address : listener.bound_addresses()) text += address + '\n';
  const bool is_written = ::write(responses, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(responses);
  char nothing = 0;
  while (is_written && ::read(alive, &nothing, 1) > 0) {
  }
  listener.stop();
  exchange->shut_down_sockets();
  server->Shutdown();
}

}  // namespace

ServedContact::ServedContact(const std::string& cache) {
  rpc::set_poll_strategy();
  const Pipe responses = make_pipe();
  const Pipe alive = make_pipe();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(responses[0]);
    ::close(alive[1]);
    serve(cache, responses[1], alive[0]);
    ::_exit(0);
  }
  ::close(responses[1]);
  ::close(alive[0]);
  alive_ = alive[1];
  std::string line;
  for (char c = 0; ::read(responses[0], &c, 1) == 1;) {
    if (c != '\n') {
      line += c;
      continue;
    }
    addresses_.push_back(std::exchange(line, {}));
  }
  ::close(responses[0]);
}

ServedContact::~ServedContact() {
  ::close(alive_);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace heelstrike
