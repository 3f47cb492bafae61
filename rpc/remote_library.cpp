#include "rpc/remote_library.hpp"

#include "common/process/loaded_module.hpp"

namespace heelstrike::rpc {
namespace {

const ModuleFile remote_file(remote_library_file);

const RemoteLibrary& load_remote(const std::filesystem::path& file) {
  const auto* library = static_cast<const RemoteLibrary*>(
      load_module(file, remote_library_function, "gRPC (libgrpc++1.51, libprotobuf32)"));
  require_same_version(file, library->version);
  return *library;
}

}  // namespace

const RemoteLibrary& remote_library() {
  static const RemoteLibrary& library = load_remote(remote_file.path());
  return library;
}

}  // namespace heelstrike::rpc
