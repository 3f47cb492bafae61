#include "rpc/address.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <charconv>

#include "common/errors/error.hpp"

namespace heelstrike::rpc {

namespace {

[[noreturn]] void throw_invalid_address(const std::string& text, const std::string& why) {
  throw input_error("address", fmt::format("address '{}': {}; expected unix:/absolute/path or host:port, for example "
                                           "unix:/run/heelstrike/fem.sock or 127.0.0.1:50051",
                                           text, why));
}

Address parse_unix(const std::string& text, const std::string& path) {
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.front() != '/') throw_invalid_address(text, "the path of the socket is not absolute");
  if (path.size() > longest) {
    throw_invalid_address(text, fmt::format("the path has {} bytes, a Unix socket allows {}", path.size(), longest));
  }
  return {.is_unix = true, .path = path, .host = {}, .port = 0};
}

int parse_port(const std::string& text, const std::string& digits) {
  int port = -1;
  const char* end = digits.data() + digits.size();
  const auto [rest, failure] = std::from_chars(digits.data(), end, port);
  if (failure != std::errc() || rest != end || port < 0 || port > 65535) {
    throw_invalid_address(text, fmt::format("'{}' is not a port between 0 and 65535", digits));
  }
  return port;
}

}  // namespace

std::string Address::text() const {
  if (is_unix) return "unix:" + path;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Address parse_address(const std::string& text) {
  if (text.rfind("unix:", 0) == 0) return parse_unix(text, text.substr(5));
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) throw_invalid_address(text, "the port is missing");
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find('/') != std::string::npos) throw_invalid_address(text, "the host is missing");
  return {.is_unix = false, .path = {}, .host = host, .port = parse_port(text, text.substr(colon + 1))};
}

}  // namespace heelstrike::rpc
