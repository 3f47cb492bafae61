// The module behind remote_library().
#include "common/process/version.hpp"
#include "rpc/remote_contact.hpp"
#include "rpc/remote_library.hpp"

namespace heelstrike::rpc {
namespace {

ContactFactory contact_at(const std::string& address) {
  return open_remote_contact({.endpoint = {.address = address, .tls = {}}});
}

}  // namespace
}  // namespace heelstrike::rpc

extern "C" __attribute__((visibility("default"))) const heelstrike::rpc::RemoteLibrary* heelstrike_remote_library() {
  static constexpr heelstrike::rpc::RemoteLibrary library{.version = heelstrike::program_version,
                                                          .contact = heelstrike::rpc::contact_at};
  return &library;
}
