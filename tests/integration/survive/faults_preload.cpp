// Preloaded into a program under test: kills it, or lets its disk be full, at the n-th of its system calls, so that
// crashes occur at defined instants and are reproducible at any speed of the machine.
//
// HEELSTRIKE_TEST_FAULTS holds orders separated by ';', each PROGRAM:CALL:N:TOKEN:HOW. CALL is write (to a file), send,
// recv (on a socket), rename or fsync. An order is carried out by the first process of that program that makes its N-th
// such call while the file TOKEN exists. HOW:
// before  killed before the call      half  killed after half of the bytes      after  killed after the call
// both    as before, and kills the other servers of its client too
// full    the disk is full from this call on, until TOKEN is removed
// count   no fault; TOKEN, a file of 8 bytes, counts the calls
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Order {
  std::string call;
  std::uint64_t n = 0;
  std::string token;
  std::string how;
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t>* counter = nullptr;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::atomic<std::uint64_t>* shared_counter(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  void* page = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  return page == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(page);
}

std::vector<Order*> read_orders() {
  std::vector<Order*> orders;
  const char* text = std::getenv("HEELSTRIKE_TEST_FAULTS");
  if (text == nullptr) return orders;
  for (const std::string& entry : split(text, ';')) {
    const auto parts = split(entry, ':');
    if (parts.size() != 5 || parts[0] != program_invocation_short_name) continue;
    auto* order = new Order;  // for the lifetime of the program
    order->call = parts[1];
    order->n = std::strtoull(parts[2].c_str(), nullptr, 10);
    order->token = parts[3];
    order->how = parts[4];
    if (order->how == "count") order->counter = shared_counter(order->token);
    orders.push_back(order);
  }
  return orders;
}

const std::vector<Order*>& orders() {
  static const std::vector<Order*> all = read_orders();
  return all;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

bool is_of_kind(int descriptor, mode_t kind) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

void kill_brothers() {
  const std::string task = "/proc/" + std::to_string(::getppid()) + "/task/";
  // Children are listed by the thread that started them; threads of a small program have numbers close to its own.
  for (pid_t thread = ::getppid(); thread < ::getppid() + 64; ++thread) {
    std::ifstream children(task + std::to_string(thread) + "/children");
    for (pid_t child = 0; children >> child;) {
      if (child != ::getpid()) ::kill(child, SIGKILL);
    }
  }
}

[[noreturn]] void kill_process() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

/// The order of this call; a kill before the call has happened then. @returns null when there is none
const Order* due(std::string_view call) {
  const Order* found = nullptr;
  for (Order* order : orders()) {
    if (order->call != call) continue;
    if (order->counter != nullptr) {
      ++*order->counter;
      continue;
    }
    const std::uint64_t n = ++order->made;
    if (order->how == "full") {
      if (n >= order->n && ::access(order->token.c_str(), F_OK) == 0) found = order;
      continue;
    }
    if (n != order->n || ::unlink(order->token.c_str()) != 0) continue;
    if (order->how == "both") kill_brothers();
    if (order->how == "before" || order->how == "both") kill_process();
    found = order;
  }
  return found;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (orders().empty() || !is_of_kind(descriptor, S_IFREG)) return real(descriptor, bytes, size);
  const Order* order = due("write");
  if (order == nullptr) return real(descriptor, bytes, size);
  if (order->how == "full") {
    errno = ENOSPC;
    return -1;
  }
  (void)!real(descriptor, bytes, order->how == "half" ? size / 2 : size);
  kill_process();
}

int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  const Order* order = orders().empty() ? nullptr : due("fsync");
  if (order != nullptr && order->how == "full") {
    errno = ENOSPC;
    return -1;
  }
  const int result = real(descriptor);
  if (order != nullptr) kill_process();
  return result;
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  const Order* order = orders().empty() ? nullptr : due("rename");
  if (order != nullptr && order->how == "full") {
    errno = ENOSPC;
    return -1;
  }
  const int result = real(from, to);
  if (order != nullptr) kill_process();
  return result;
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static const auto real = next<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  const Order* order = orders().empty() ? nullptr : due("send");
  const ssize_t result = real(descriptor, message, flags);
  if (order != nullptr) kill_process();
  return result;
}

ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  static const auto real = next<ssize_t (*)(int, msghdr*, int)>("recvmsg");
  const ssize_t result = real(descriptor, message, flags);
  if (result > 0 && !orders().empty() && due("recv") != nullptr) kill_process();
  return result;
}
}
