#include "common/http/http_server.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"

namespace heelstrike {

HttpServer::HttpServer(std::size_t n_threads) {
  http_.new_task_queue = [n_threads] { return new httplib::ThreadPool(n_threads); };
  // The default also shares the port with another server, which would then get half of the requests.
  http_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
}

HttpServer::~HttpServer() {
  if (!thread_.joinable()) return;
  // stop() before the loop has begun would be lost.
  while (!http_.is_running()) std::this_thread::yield();
  http_.stop();
  thread_.join();
}

int HttpServer::bind(const std::string& host, int port) {
  const int bound = port == 0 ? http_.bind_to_any_port(host) : (http_.bind_to_port(host, port) ? port : -1);
  if (bound < 0) {
    throw unavailable_error(
        fmt::format("cannot serve a page at {}:{}: is the address this machine's, and the port free? Name "
                    "another one",
                    host, port));
  }
  return bound;
}

void HttpServer::run() {
  thread_ = std::thread([this] { http_.listen_after_bind(); });
}

}  // namespace heelstrike
