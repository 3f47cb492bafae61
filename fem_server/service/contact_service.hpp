/// ContactService of proto/heelstrike/v1/contact.proto: a thin layer over sessions. Every failure is returned as status
/// and trailing metadata of rpc/wire/error_wire.hpp; no client input stops the server.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "fem_server/backend_interface/preparation_locks.hpp"
#include "fem_server/service/asset_store.hpp"
#include "fem_server/service/limits.hpp"
#include "fem_server/service/metrics.hpp"
#include "fem_server/service/session_table.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/server/call_watch.hpp"
#include "rpc/server/exchange_server.hpp"
#include "rpc/server/stream_slots.hpp"

namespace heelstrike::fem {

/// Counts the calls in progress and rejects new work while draining.
class CallCounter {
 public:
  /// RAII token of a call in progress.
  class Work {
   public:
    explicit Work(CallCounter& counter) : counter_(counter) {}
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    CallCounter& counter_;
  };
  [[nodiscard]] Work enter();
  void begin_drain();
  /// @throws Error{unavailable} while draining
  void require_open() const;
  /// Returns false if calls are still in progress after `timeout`.
  [[nodiscard]] bool wait_idle(std::chrono::milliseconds timeout);

 private:
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  int n_working_ = 0;
  bool draining_ = false;
};

/// Limits concurrent calls that occupy a processor and cannot be interrupted. A waiting call can be cancelled: if a
/// client sends many requests and disconnects, only those in progress are completed.
class WorkerSemaphore {
 public:
  explicit WorkerSemaphore(unsigned n) : free_(n) {}

  class Slot {
   public:
    /// Blocks until a slot is free. @throws Error{cancelled} when stopped
    Slot(WorkerSemaphore& slots, const std::stop_token& stop);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    WorkerSemaphore& slots_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable_any freed_;
  unsigned free_;
};

class ContactServiceImpl final : public rpc::AsyncContactService {
 public:
  /// @param cache_directory  for products of preparations; empty = none
  ContactServiceImpl(const ServiceLimits& limits, const std::filesystem::path& assets_folder,
                     std::string cache_directory = {});

  [[nodiscard]] Metrics& metrics() { return metrics_; }
  [[nodiscard]] CallCounter& calls_in_progress() { return calls_in_progress_; }
  /// Requests all current and future calls to stop.
  void stop_work() { call_watch_.stop_all(); }
  /// Serves Exchange calls on the server of this service. Called once, before the server is built.
  /// @param max_calls  maximum open calls, if ServiceLimits allows more
  [[nodiscard]] std::unique_ptr<rpc::ExchangeServer> serve_exchange(grpc::ServerBuilder& builder, int max_calls);

  grpc::Status GetVersion(grpc::ServerContext* context, const v1::GetVersionRequest* request,
                          v1::VersionInfo* response) override;
  grpc::Status ListBackends(grpc::ServerContext* context, const v1::ListBackendsRequest* request,
                            v1::ListBackendsResponse* response) override;
  grpc::Status UploadAsset(grpc::ServerContext* context, grpc::ServerReader<v1::UploadAssetRequest>* reader,
                           v1::UploadAssetResponse* response) override;
  grpc::Status OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                           grpc::ServerWriter<v1::OpenSessionResponse>* writer) override;
  grpc::Status EvaluateBatch(grpc::ServerContext* context, const v1::EvaluateBatchRequest* request,
                             v1::EvaluateBatchResponse* response) override;
  grpc::Status CommitMotion(grpc::ServerContext* context, const v1::CommitMotionRequest* request,
                            v1::CommitMotionResponse* response) override;
  grpc::Status GetFields(grpc::ServerContext* context, const v1::GetFieldsRequest* request,
                         v1::GetFieldsResponse* response) override;
  grpc::Status SaveState(grpc::ServerContext* context, const v1::SaveStateRequest* request,
                         v1::SaveStateResponse* response) override;
  grpc::Status RestoreState(grpc::ServerContext* context, const v1::RestoreStateRequest* request,
                            v1::RestoreStateResponse* response) override;
  grpc::Status CloseSession(grpc::ServerContext* context, const v1::CloseSessionRequest* request,
                            v1::CloseSessionResponse* response) override;
  grpc::Status GetActivity(grpc::ServerContext* context, const v1::GetActivityRequest* request,
                           v1::GetActivityResponse* response) override;
  grpc::Status GetCapacity(grpc::ServerContext* context, const v1::GetCapacityRequest* request,
                           v1::Capacity* response) override;

 private:
  /// Runs a call: counts it as work and converts exceptions to status and metadata.
  template <typename Body>
  grpc::Status run_call(grpc::ServerContext& context, Body&& body);

  grpc::Status exchange(rpc::ServedExchange& call);
  void receive_asset(grpc::ServerContext& context, grpc::ServerReader<v1::UploadAssetRequest>& reader,
                     v1::UploadAssetResponse& response);
  void open(grpc::ServerContext& context, const v1::OpenSessionRequest& request,
            grpc::ServerWriter<v1::OpenSessionResponse>& writer);

  ServiceLimits limits_;
  Metrics metrics_;
  CallCounter calls_in_progress_;
  rpc::CallWatch call_watch_;
  WorkerSemaphore slots_;
  rpc::UploadBudget uploads_;
  rpc::StreamSlots upload_slots_;
  AssetStore assets_;
  SessionTable sessions_;
  std::unique_ptr<rpc::StreamSlots> streams_;  ///< set once Exchange calls are served
  std::string cache_directory_;
  PreparationLocks locks_;
};

}  // namespace heelstrike::fem
