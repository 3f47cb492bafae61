/// The gRPC layer of the multibody server: checks requests, passes them to the run store, translates errors.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

#include "common/contact/contact.hpp"
#include "heelstrike/v1/simulation.grpc.pb.h"
#include "mbs_server/service/run_store.hpp"
#include "rpc/server/call_watch.hpp"
#include "rpc/server/stream_slots.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Source of the contact of the runs.
struct ContactSource {
  /// Parameter schemas of the back-ends of the contact server. @throws Error{unavailable},
  /// Error{version_mismatch}
  std::function<BackendSchemas()> schemas;
  ContactFactory open;
  /// Time for which runs of an earlier server wait for the contact server before they fail.
  std::chrono::milliseconds reconnect_timeout{0};
};

/// Unary calls are processed in gRPC's threads; WatchRun is a reactor with a separate thread.
class SimulationService : public v1::SimulationService::WithCallbackMethod_WatchRun<v1::SimulationService::Service> {
 public:
  /// @param store     outlives the service
  /// @param contract     version of the wire contract to report and require; contract_version, except in tests
  /// @param allow_fmus  permission to load the machine code of FMUs from clients
  SimulationService(RunStore& store, ContactSource contact, std::uint32_t contract, bool allow_fmus = false);

  grpc::Status GetVersion(grpc::ServerContext* context, const v1::GetSimulationVersionRequest* request,
                          v1::VersionInfo* response) override;
  grpc::Status SubmitRun(grpc::ServerContext* context, grpc::ServerReader<v1::SubmitRunRequest>* reader,
                         v1::SubmitRunResponse* response) override;
  grpc::ServerWriteReactor<v1::RunEvent>* WatchRun(grpc::CallbackServerContext* context,
                                                   const v1::WatchRunRequest* request) override;
  grpc::Status CancelRun(grpc::ServerContext* context, const v1::CancelRunRequest* request,
                         v1::CancelRunResponse* response) override;
  grpc::Status FetchResults(grpc::ServerContext* context, const v1::FetchResultsRequest* request,
                            v1::FetchResultsResponse* response) override;
  grpc::Status FetchInput(grpc::ServerContext* context, const v1::FetchInputRequest* request,
                          grpc::ServerWriter<v1::SubmitRunRequest>* writer) override;
  grpc::Status ListRuns(grpc::ServerContext* context, const v1::ListRunsRequest* request,
                        v1::ListRunsResponse* response) override;
  grpc::Status DeleteRun(grpc::ServerContext* context, const v1::DeleteRunRequest* request,
                         v1::DeleteRunResponse* response) override;

  grpc::Status GetCapacity(grpc::ServerContext* context, const v1::GetCapacityRequest* request,
                           v1::Capacity* response) override;

  /// Resumes the runs of an earlier server. Called once, before clients connect.
  void resume() {
    store_.resume([this](const auto& spooled, const auto& stop) { return read_input(spooled, stop); }, contact_.open);
  }
  /// Ends uploads in progress.
  void stop_work() { calls_.stop_all(); }
  [[nodiscard]] unsigned n_watchers() const { return static_cast<unsigned>(watchers_->all().used); }

 private:
  [[nodiscard]] RunInput read_input(const std::filesystem::path& spooled, const std::stop_token& stop) const;
  std::string submit(grpc::ServerContext& context, grpc::ServerReader<v1::SubmitRunRequest>& reader);

  RunStore& store_;
  ContactSource contact_;
  std::uint32_t contract_;
  bool allow_fmus_;
  rpc::CallWatch calls_;
  rpc::UploadBudget uploads_;
  rpc::StreamSlots upload_slots_;
  std::shared_ptr<rpc::StreamSlots> watchers_;
};

}  // namespace heelstrike::mbs
