#include "common/http/http_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

using Clock = std::chrono::steady_clock;

/// A connection with limits on bytes and time. Waits with poll, which has no limit on descriptor numbers.
class OneRequest final : public httplib::Stream {
 public:
  explicit OneRequest(socket_t socket) : socket_(socket) {}

  [[nodiscard]] bool is_readable() const override {
    return left_ > 0 && wait(POLLIN, begin_ + HttpServer::request_timeout);
  }
  [[nodiscard]] bool is_writable() const override {
    return wait(POLLOUT, begin_ + HttpServer::request_timeout + HttpServer::response_timeout);
  }
  ssize_t read(char* to, std::size_t size) override {
    if (!is_readable()) return -1;
    const ssize_t n = ::recv(socket_, to, std::min(size, left_), MSG_DONTWAIT);
    if (n > 0) left_ -= static_cast<std::size_t>(n);
    return n;
  }
  ssize_t write(const char* from, std::size_t size) override {
    if (!is_writable()) return -1;
    return ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  [[nodiscard]] bool wait(short events, Clock::time_point until) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd waiting{socket_, events, 0};
    return left.count() > 0 && ::poll(&waiting, 1, static_cast<int>(left.count())) > 0;
  }

  socket_t socket_;
  std::size_t left_ = HttpServer::max_request_bytes;
  Clock::time_point begin_ = Clock::now();
};

/// void in httplib 0.11 of Debian 12, bool (whether accepted) in 0.18 of Debian 13.
using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));

/// One thread per connection, created on demand; one idle thread remains.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  Enqueued enqueue(std::function<void()> connection) override {
    const std::scoped_lock lock(mutex_);
    join_ended();
    waiting_.push_back(std::move(connection));
    if (waiting_.size() > n_idle_ && threads_.size() < HttpServer::max_connections) {
      const auto own = threads_.emplace(threads_.end());
      *own = std::thread([this, own] { work(own); });
    }
    changed_.notify_one();
    return static_cast<Enqueued>(true);
  }
  void shutdown() override {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return threads_.empty(); });
    join_ended();
  }

 private:
  using Threads = std::list<std::thread>;

  void work(Threads::iterator own) {
    std::unique_lock lock(mutex_);
    while (n_idle_ == 0 || !waiting_.empty()) {
      ++n_idle_;
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      --n_idle_;
      if (waiting_.empty()) break;
      const auto connection = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      connection();
      lock.lock();
    }
    // A thread cannot join itself; the next connection or the destructor does.
    ended_.splice(ended_.end(), threads_, own);
    changed_.notify_all();
  }

  /// @pre mutex_ is held; the ended threads only have to release it
  void join_ended() {
    for (auto& thread : ended_) thread.join();
    ended_.clear();
  }

  std::mutex mutex_;  ///< guards the following members
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  Threads threads_, ended_;
  std::size_t n_idle_ = 0;
  bool ending_ = false;
};

}  // namespace

bool HttpServer::SingleRequestServer::process_and_close_socket(socket_t socket) {
  OneRequest stream(socket);
  bool connection_closed = false;
  // httplib 0.18 of Debian 13 takes the addresses of both ends as well, 0.11 of Debian 12 reads them from the stream.
  const bool completed = [&](auto& from) {
    if constexpr (requires { process_request(from, true, connection_closed, nullptr); }) {
      return process_request(from, true, connection_closed, nullptr);
    } else {
      return process_request(from, "", 0, "", 0, true, connection_closed, nullptr);
    }
  }(stream);
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return completed;
}

HttpServer::HttpServer() {
  http_.new_task_queue = [] { return new ConnectionThreads; };
  // The default shares the port with other servers, which would then receive part of the requests.
  http_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
}

HttpServer::~HttpServer() {
  if (!thread_.joinable()) return;
  // stop() has no effect before the loop has begun.
  while (!http_.is_running()) std::this_thread::yield();
  http_.stop();
  thread_.join();
}

int HttpServer::bind(const std::string& host, int port) {
  const int bound = port == 0 ? http_.bind_to_any_port(host) : (http_.bind_to_port(host, port) ? port : -1);
  if (bound < 0) {
    throw unavailable_error(
        fmt::format("cannot serve a page at {}:{}: the address does not belong to this machine or the port is in use; "
                    "choose another one",
                    host, port));
  }
  return bound;
}

void HttpServer::run() {
  thread_ = std::thread([this] { http_.listen_after_bind(); });
}

}  // namespace heelstrike
