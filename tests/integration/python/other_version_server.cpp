// A contact server of another version, up to the point a client reaches: `other_version_server ADDRESS` reports its
// version until its standard input ends.
#include <grpcpp/grpcpp.h>

#include <cstdio>

#include "heelstrike/v1/contact.grpc.pb.h"

namespace {

class OtherVersion final : public heelstrike::v1::ContactService::Service {
  grpc::Status GetVersion(grpc::ServerContext* /*context*/, const heelstrike::v1::GetVersionRequest* /*request*/,
                          heelstrike::v1::VersionInfo* version) override {
    version->set_version("99.0.0");
    version->set_contract(99);
    return grpc::Status::OK;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  OtherVersion service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown();
}
