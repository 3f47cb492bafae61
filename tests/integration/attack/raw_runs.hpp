/// Runs over the raw contract: a client that makes calls the project's client never makes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "heelstrike/v1/simulation.grpc.pb.h"
#include "rpc/channel.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike::testing_support {

class RawRuns {
 public:
  explicit RawRuns(const rpc::Endpoint& endpoint)
      : stub_(v1::SimulationService::NewStub(rpc::make_channel(endpoint))) {}
  explicit RawRuns(const std::string& address) : RawRuns(rpc::Endpoint{.address = address, .tls = {}}) {}

  /// @throws the server's Error. @returns the identifier
  std::string submit(const std::string& yaml, const std::string& run_id = {}) {
    grpc::ClientContext context;
    v1::SubmitRunResponse response;
    const auto writer = stub_->SubmitRun(&context, &response);
    v1::SubmitRunRequest request;
    request.mutable_header()->set_scenario_yaml(yaml);
    request.mutable_header()->set_scenario_name("attack.yaml");
    request.mutable_header()->set_run_id(run_id);
    request.mutable_header()->set_contract(contract_version);
    writer->Write(request);
    writer->WritesDone();
    check(writer->Finish(), context);
    return response.run_id();
  }

  /// Reads to the end. @throws the server's Error. @returns the last event's summary
  v1::RunSummary watch(const std::string& run_id) {
    grpc::ClientContext context;
    v1::WatchRunRequest request;
    request.set_run_id(run_id);
    const auto reader = stub_->WatchRun(&context, request);
    v1::RunSummary summary;
    for (v1::RunEvent event; reader->Read(&event);) {
      if (event.has_finished()) summary = event.finished();
    }
    check(reader->Finish(), context);
    return summary;
  }

  void cancel(const std::string& run_id) {
    grpc::ClientContext context;
    v1::CancelRunRequest request;
    request.set_run_id(run_id);
    v1::CancelRunResponse response;
    check(stub_->CancelRun(&context, request, &response), context);
  }

  void forget(const std::string& run_id) {
    grpc::ClientContext context;
    v1::DeleteRunRequest request;
    request.set_run_id(run_id);
    v1::DeleteRunResponse response;
    check(stub_->DeleteRun(&context, request, &response), context);
  }

  int count() {
    grpc::ClientContext context;
    v1::ListRunsResponse response;
    check(stub_->ListRuns(&context, {}, &response), context);
    return response.runs_size();
  }

  [[nodiscard]] v1::SimulationService::Stub& stub() { return *stub_; }

 private:
  static void check(const grpc::Status& status, const grpc::ClientContext& context) {
    if (!status.ok()) throw wire::from_status(status, context, "call");
  }

  std::unique_ptr<v1::SimulationService::Stub> stub_;
};

/// Code of the error thrown by `body`; `internal` and a test failure if nothing is thrown.
template <typename Body>
ErrorCode code_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::internal;
}

}  // namespace heelstrike::testing_support
