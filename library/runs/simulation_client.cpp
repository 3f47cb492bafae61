#include "library/runs/simulation_client.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/process/version.hpp"
#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "rpc/wire/checksum.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike {
namespace {

constexpr std::chrono::seconds submit_deadline{120};  // scenarios with meshes of hundreds of MB over slow lines
constexpr std::chrono::seconds cancel_grace{15};      // from the cancel to the last event, on a loaded machine
constexpr double update_interval = 0.25;              // [s] a page polls every 0.4 s
constexpr unsigned rows_per_update = 512;             // a curve on a screen has about 1000 points in total

/// 64 random bits, so that identifiers do not collide.
std::string make_run_id() {
  std::random_device device;
  return fmt::format("run-{:08x}{:08x}", device(), device());
}

/// Cancels the run on a stop request, and the call itself when the run does not end in time.
class CancelOnStop {
 public:
  CancelOnStop(grpc::ClientContext& context, std::stop_token stop, std::function<void()> cancel_run)
      : wake_(stop, std::function<void()>([this] {
                {
                  const std::scoped_lock lock(mutex_);
                  stopping_ = true;
                }
                changed_.notify_all();
              })),
        thread_([this, &context, cancel = std::move(cancel_run)](const std::stop_token& finished) {
          std::unique_lock lock(mutex_);
          if (!changed_.wait(lock, finished, [this] { return stopping_; })) return;
          lock.unlock();
          try {
            cancel();
          } catch (const Error&) {
            context.TryCancel();  // no server to cancel the run; the broken stream ends the reader
            return;
          }
          lock.lock();
          changed_.wait_for(lock, finished, cancel_grace, [] { return false; });
          if (!finished.stop_requested()) context.TryCancel();
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool stopping_ = false;
  std::stop_callback<std::function<void()>> wake_;
  std::jthread thread_;  ///< last member: stopped and joined first
};

}  // namespace

SimulationClient::SimulationClient(const rpc::Endpoint& endpoint, std::string peer)
    : peer_(std::move(peer)), channel_(rpc::make_channel(endpoint)), stub_(v1::SimulationService::NewStub(channel_)) {
  rpc::wait_for_ready(*channel_, endpoint);
}

bool SimulationClient::wait_for_connection(std::chrono::milliseconds time) {
  return channel_->WaitForConnected(std::chrono::system_clock::now() + time);
}

v1::VersionInfo SimulationClient::version(std::chrono::milliseconds reconnect_timeout) {
  v1::VersionInfo version;
  rpc::call("GetVersion of " + peer_, {.timeout = std::chrono::seconds{5}, .reconnect_timeout = reconnect_timeout},
            [&](grpc::ClientContext& context) { return stub_->GetVersion(&context, {}, &version); });
  return version;
}

std::string SimulationClient::submit(const RunRequest& request, std::chrono::milliseconds reconnect_timeout) {
  rpc::check_version(version(reconnect_timeout), peer_);
  const std::string run_id = make_run_id();
  v1::SubmitRunResponse response;
  rpc::call("SubmitRun at " + peer_, {.timeout = submit_deadline, .reconnect_timeout = reconnect_timeout},
            [&](grpc::ClientContext& context) {
              const auto writer = stub_->SubmitRun(&context, &response);
              send(request, run_id, *writer);
              return writer->Finish();  // returns the reason when the server closed the stream
            });
  return response.run_id();
}

void SimulationClient::send(const RunRequest& request, const std::string& run_id,
                            grpc::ClientWriter<v1::SubmitRunRequest>& writer) {
  v1::SubmitRunRequest part;
  part.mutable_header()->set_scenario_yaml(request.yaml);
  part.mutable_header()->set_scenario_name(valid_utf8(request.file_name));  // for messages only
  part.mutable_header()->set_run_id(run_id);
  part.mutable_header()->set_contract(contract_version);
  part.mutable_header()->set_resume_from(request.resume_from);
  wire::set_message_checksum(part);
  bool going = writer.Write(part);
  for (const AssetContent& file : request.files) {
    for (std::size_t at = 0; going; at += rpc::upload_chunk_bytes) {
      auto& chunk = *part.mutable_file();
      chunk.set_name(file.name);
      chunk.set_content(file.content.get().substr(at, rpc::upload_chunk_bytes));
      chunk.set_last(at + rpc::upload_chunk_bytes >= file.content.size());
      wire::set_message_checksum(part);
      going = writer.Write(part);
      if (chunk.last()) break;
    }
  }
  writer.WritesDone();
}

RunRequest SimulationClient::input(const std::string& run_id) {
  rpc::check_version(version(rpc::query_reconnect_timeout), peer_);
  v1::FetchInputRequest query;
  query.set_run_id(run_id);
  RunRequest request;
  rpc::call("FetchInput of " + peer_, {.timeout = submit_deadline, .reconnect_timeout = rpc::query_reconnect_timeout},
            [&](grpc::ClientContext& context) {
              request = {};
              bool open = false;
              bool damaged = false;
              const auto reader = stub_->FetchInput(&context, query);
              for (v1::SubmitRunRequest part; reader->Read(&part);) {
                damaged = damaged || !wire::verify_checksum(part);
                if (damaged) {
                  context.TryCancel();
                  continue;
                }
                if (part.has_header()) {
                  request.yaml = part.header().scenario_yaml();
                  request.file_name = part.header().scenario_name();
                  request.resume_from = part.header().resume_from();
                  continue;
                }
                if (!open) request.files.push_back({.sha256 = {}, .name = part.file().name(), .content = {}});
                request.files.back().content.edit() += part.file().content();
                open = !part.file().last();
              }
              const grpc::Status status = reader->Finish();
              if (!damaged) return status;
              return grpc::Status(grpc::StatusCode::UNAVAILABLE, wire::corrupted_message_error("reply").what());
            });
  return request;
}

void SimulationClient::watch(const std::string& run_id, std::uint64_t after,
                             const std::function<void(const v1::RunEvent&)>& on_event, std::stop_token stop,
                             AtStop at_stop) {
  grpc::ClientContext context;
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  request.set_after_sequence(after);
  const auto reader = stub_->WatchRun(&context, request);
  const CancelOnStop cancel_on_stop(context, std::move(stop), [&] {
    if (at_stop == AtStop::leave) {
      context.TryCancel();
    } else {
      cancel(run_id);
    }
  });
  read_all(context, *reader, on_event);
}

void SimulationClient::follow(const std::string& run_id, std::uint64_t after,
                              const std::function<void(const v1::RunEvent&)>& on_event, const std::stop_token& stop) {
  grpc::ClientContext context;
  const std::stop_callback leave(stop, [&context] { context.TryCancel(); });
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  request.set_after_sequence(after);
  request.mutable_thinning()->set_update_interval(update_interval);
  request.mutable_thinning()->set_max_rows(rows_per_update);
  const auto reader = stub_->WatchRun(&context, request);
  try {
    read_all(context, *reader, on_event);
  } catch (const Error&) {
    if (!stop.stop_requested()) throw;
  }
}

void SimulationClient::read_all(grpc::ClientContext& context, grpc::ClientReader<v1::RunEvent>& reader,
                                const std::function<void(const v1::RunEvent&)>& on_event) {
  v1::RunEvent event;
  bool last_event_sent = false;
  try {
    while (reader.Read(&event)) {
      wire::require_intact(event, "event of the run");
      last_event_sent = event.has_finished();
      on_event(event);
    }
  } catch (...) {
    context.TryCancel();
    while (reader.Read(&event)) {
    }
    (void)reader.Finish();
    throw;
  }
  const grpc::Status status = reader.Finish();
  const std::string what = "WatchRun of " + peer_;
  if (last_event_sent) return;
  if (status.ok()) throw unavailable_error(what + ": the stream ended without the last event of the run");
  const Error error = wire::from_status(status, context, what);
  if (rpc::is_connection_lost(status, context)) throw unavailable_error(error.what());
  throw error;
}

std::vector<v1::RunStatus> SimulationClient::list() {
  v1::ListRunsResponse response;
  rpc::call("ListRuns at " + peer_,
            {.timeout = std::chrono::seconds{5}, .reconnect_timeout = rpc::query_reconnect_timeout},
            [&](grpc::ClientContext& context) { return stub_->ListRuns(&context, {}, &response); });
  return {response.runs().begin(), response.runs().end()};
}

void SimulationClient::cancel(const std::string& run_id) {
  v1::CancelRunRequest request;
  request.set_run_id(run_id);
  v1::CancelRunResponse response;
  rpc::call("CancelRun at " + peer_,
            {.timeout = std::chrono::seconds{5}, .reconnect_timeout = rpc::query_reconnect_timeout},
            [&](grpc::ClientContext& context) { return stub_->CancelRun(&context, request, &response); });
}

void SimulationClient::forget(const std::string& run_id) {
  v1::DeleteRunRequest request;
  request.set_run_id(run_id);
  v1::DeleteRunResponse response;
  int attempts = 0;
  try {
    rpc::call("DeleteRun at " + peer_,
              {.timeout = std::chrono::seconds{5}, .reconnect_timeout = rpc::query_reconnect_timeout},
              [&](grpc::ClientContext& context) {
                ++attempts;
                return stub_->DeleteRun(&context, request, &response);
              });
  } catch (const Error& error) {
    // The response to the first attempt was lost, not the request.
    if (error.code() != ErrorCode::not_found || attempts == 1) throw;
  }
}

}  // namespace heelstrike
