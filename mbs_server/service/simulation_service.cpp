#include "mbs_server/service/simulation_service.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <set>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/digest.hpp"
#include "common/process/version.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/resume_from.hpp"
#include "mbs_server/service/run_input.hpp"
#include "mbs_server/service/spool.hpp"
#include "mbs_server/service/watch_reactor.hpp"
#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "rpc/wire/checksum.hpp"
#include "rpc/wire/error_wire.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace heelstrike::mbs {
namespace {

/// Runs `body` and translates its exceptions; none propagates into gRPC.
grpc::Status responded(const char* verb, grpc::ServerContextBase& context, const std::function<void()>& body) {
  try {
    body();
    return grpc::Status::OK;
  } catch (const Error& error) {
    spdlog::info("event=rejected call={} code=\"{}\" reason=\"{}\"", verb, to_string(error.code()),
                 one_line(error.what()));
    if (error.code() != ErrorCode::limit) return wire::to_status(error, context);
    // A limit of this server: it may have capacity later, and another server may have more.
    return wire::to_status(Error(error.code(), error.what(), error.field(), true), context);
  } catch (const std::exception& defect) {
    spdlog::error("event=defect call={} reason=\"{}\"", verb, one_line(defect.what()));
    return wire::to_status(Error(ErrorCode::internal, fmt::format("{} failed: {}", verb, defect.what())), context);
  }
}

/// Ends a WatchRun call that cannot start.
class RejectedWatch : public grpc::ServerWriteReactor<v1::RunEvent> {
 public:
  explicit RejectedWatch(const grpc::Status& status) {
    // gRPC passes the object to another thread under an internal lock, which a thread sanitizer cannot see. Before the
    // object is returned Finish only stores the status: OnDone cannot be called from within.
    const std::scoped_lock lock(mutex_);
    Finish(status);
  }
  void OnDone() override {
    { const std::scoped_lock lock(mutex_); }
    delete this;
  }

 private:
  std::mutex mutex_;
};

void check_contract(std::uint32_t client, std::uint32_t server) {
  if (client == server) return;
  throw Error(ErrorCode::version_mismatch,
              fmt::format("the client uses version {} of the contract, this mbs_server {} uses version {}; install "
                          "the same Heelstrike version on both sides",
                          client, program_version, server));
}

/// Digest of the whole submission.
std::string digest_of(const RunInput& input, const v1::SubmitRunRequest::Header& header) {
  return sha256_hex(input.scenario_digest + '\n' + header.resume_from());
}

/// Files of one submission, assembled from their chunks.
class FileCollector {
 public:
  FileCollector(std::uint64_t max_bytes, rpc::UploadCall& call) : max_bytes_(max_bytes), call_(call) {}

  void add(const v1::SubmitRunRequest::FileChunk& chunk) {
    if (chunk.content().size() > rpc::upload_chunk_bytes) {
      throw input_error("file.content", fmt::format("file '{}': expected chunks of at most {} bytes, found one of {}",
                                                    chunk.name(), rpc::upload_chunk_bytes, chunk.content().size()));
    }
    n_bytes_ += chunk.content().size();
    call_.reserve(chunk.content().size());
    if (n_bytes_ > max_bytes_) {
      throw limit_error("files",
                        fmt::format("file '{}': with it the files of this scenario are larger than {} bytes together, "
                                    "which is the limit of the multibody server (--max-files-kib)",
                                    chunk.name(), max_bytes_));
    }
    if (!open_) begin(chunk.name());
    if (files_.back().name != chunk.name()) {
      throw order_error(fmt::format("file '{}' begins before '{}' was complete", chunk.name(), files_.back().name));
    }
    files_.back().content.edit() += chunk.content();
    open_ = !chunk.last();
  }

  std::vector<AssetContent> take() {
    if (open_) throw order_error(fmt::format("file '{}' ends before its last chunk", files_.back().name));
    return std::move(files_);
  }

 private:
  void begin(const std::string& name) {
    if (!names_.insert(name).second) {
      throw input_error("file.name", fmt::format("file '{}' is sent twice; file names of a scenario are unique", name));
    }
    files_.push_back({.sha256 = {}, .name = name, .content = {}});
  }

  std::uint64_t max_bytes_;
  rpc::UploadCall& call_;
  std::uint64_t n_bytes_ = 0;
  bool open_ = false;
  std::vector<AssetContent> files_;
  std::set<std::string> names_;
};

}  // namespace

SimulationService::SimulationService(RunStore& store, ContactSource contact, std::uint32_t contract, bool allow_fmus)
    : store_(store),
      contact_(std::move(contact)),
      contract_(contract),
      allow_fmus_(allow_fmus),
      uploads_(store.limits().max_upload_bytes / 2, store.limits().max_upload_bytes),
      upload_slots_(rpc::upload_limits()),
      watchers_(std::make_shared<rpc::StreamSlots>(rpc::StreamLimits{.max_streams = store.limits().max_watchers})) {}

grpc::Status SimulationService::GetVersion(grpc::ServerContext* /*context*/,
                                           const v1::GetSimulationVersionRequest* /*request*/,
                                           v1::VersionInfo* response) {
  response->set_version(std::string(program_version));
  response->set_contract(contract_);
  return grpc::Status::OK;
}

std::string SimulationService::submit(grpc::ServerContext& context, grpc::ServerReader<v1::SubmitRunRequest>& reader) {
  const rpc::ClientIdentity client = rpc::identity_of(context);
  rpc::UploadCall call(calls_, upload_slots_, uploads_, context, client.account);
  v1::SubmitRunRequest part;
  if (!reader.Read(&part)) {
    throw order_error(
        "SubmitRun: no first message could be read; it must contain the header with the scenario, and all text in it "
        "must "
        "be UTF-8 (a file saved as Latin-1 is not)");
  }
  wire::require_intact(part, "part of a submission");
  call.begun();
  if (!part.has_header()) throw order_error("SubmitRun: the first message must contain the header with the scenario");
  const v1::SubmitRunRequest::Header header = part.header();
  check_contract(header.contract(), contract_);
  if (header.scenario_yaml().size() > store_.limits().max_scenario_bytes) {
    throw limit_error("scenario_yaml", fmt::format("the scenario has {} bytes; the multibody server takes at most {} "
                                                   "(--max-scenario-kib)",
                                                   header.scenario_yaml().size(), store_.limits().max_scenario_bytes));
  }
  store_.check_can_start(header.run_id(), client.owner);
  FileCollector files(store_.limits().max_files_bytes, call);
  while (reader.Read(&part)) {
    wire::require_intact(part, "part of a submission");
    if (!part.has_file()) throw order_error("SubmitRun: after the header only chunks of files may follow");
    files.add(part.file());
  }
  call.complete();
  if (call.stopped()) throw Error(ErrorCode::cancelled, "SubmitRun: the upload ended before the scenario was complete");
  RunInput input = make_run_input(header.scenario_yaml(), header.scenario_name(), files.take(), contact_.schemas());
  input.run_id = header.run_id();
  input.allow_fmus = allow_fmus_;
  // A damaged FMU is an error of the submission, as are errors of the text: the run never begins.
  check_fmu_files(input);
  if (!header.resume_from().empty()) resume_from(header.resume_from(), input);
  const Submission submission{.owner = client.owner, .digest = digest_of(input, header), .header = header};
  return store_.start(std::move(input), contact_.open, submission);
}

RunInput SimulationService::read_input(const std::filesystem::path& spooled, const std::stop_token& stop) const {
  v1::SubmitRunRequest::Header header;
  std::vector<AssetContent> files;
  bool open = false;
  read_spooled_input(spooled, [&](v1::SubmitRunRequest& part) {
    if (part.has_header()) {
      header = part.header();
      return true;
    }
    if (!open) files.push_back({.sha256 = {}, .name = part.file().name(), .content = {}});
    files.back().content.edit() += part.file().content();
    open = !part.file().last();
    return true;
  });
  // Both servers may have terminated together, and this one was started first.
  rpc::Backoff backoff(contact_.reconnect_timeout, stop);
  BackendSchemas schemas;
  for (bool known = false; !known;) {
    try {
      schemas = contact_.schemas();
      known = true;
    } catch (const Error& error) {
      const bool is_transient = error.code() == ErrorCode::unavailable || error.code() == ErrorCode::deadline;
      if (!is_transient || !backoff.pause()) throw;
    }
  }
  RunInput input = make_run_input(header.scenario_yaml(), header.scenario_name(), std::move(files), schemas);
  input.allow_fmus = allow_fmus_;
  if (digest_of(input, header) != digest_of_spooled_input(spooled)) {
    throw file_error(spooled.string(), fmt::format("{}: expected the submission of a run, found other bytes: the "
                                                   "file was damaged or changed; submit the run again",
                                                   spooled.string()));
  }
  if (!header.resume_from().empty()) resume_from(header.resume_from(), input);
  return input;
}

grpc::Status SimulationService::SubmitRun(grpc::ServerContext* context,
                                          grpc::ServerReader<v1::SubmitRunRequest>* reader,
                                          v1::SubmitRunResponse* response) {
  return responded("SubmitRun", *context, [&] {
    response->set_run_id(submit(*context, *reader));
    spdlog::info("event=run_started run={}", response->run_id());
  });
}

grpc::ServerWriteReactor<v1::RunEvent>* SimulationService::WatchRun(grpc::CallbackServerContext* context,
                                                                    const v1::WatchRunRequest* request) {
  grpc::ServerWriteReactor<v1::RunEvent>* reactor = nullptr;
  const grpc::Status status = responded("WatchRun", *context, [&] {
    const rpc::ClientIdentity client = rpc::identity_of(*context);
    WatcherSlot place{.all = watchers_, .own = watchers_->acquire(client.account, [] {})};
    if (!place.own) {
      throw limit_error(
          "max_watchers",
          fmt::format("the multibody server serves {} watchers concurrently, half of them of one client, which "
                      "is its limit (--max-watchers); try again later",
                      store_.limits().max_watchers));
    }
    place.own->begin_work();  // a watcher keeps its slot also without events
    reactor = new WatchReactor(*context, store_.log(request->run_id(), client), *request, std::move(place));
  });
  return reactor != nullptr ? reactor : new RejectedWatch(status);
}

grpc::Status SimulationService::CancelRun(grpc::ServerContext* context, const v1::CancelRunRequest* request,
                                          v1::CancelRunResponse* /*response*/) {
  return responded("CancelRun", *context, [&] { store_.cancel(request->run_id(), rpc::identity_of(*context)); });
}

grpc::Status SimulationService::FetchResults(grpc::ServerContext* context, const v1::FetchResultsRequest* request,
                                             v1::FetchResultsResponse* response) {
  return responded("FetchResults", *context, [&] {
    const rpc::ClientIdentity client = rpc::identity_of(*context);
    *response->mutable_status() = store_.status(request->run_id(), client);
    if (const auto summary = store_.log(request->run_id(), client)->summary()) *response->mutable_summary() = *summary;
  });
}

grpc::Status SimulationService::FetchInput(grpc::ServerContext* context, const v1::FetchInputRequest* request,
                                           grpc::ServerWriter<v1::SubmitRunRequest>* writer) {
  return responded("FetchInput", *context, [&] {
    read_spooled_input(store_.input(request->run_id(), rpc::identity_of(*context)), [&](v1::SubmitRunRequest& part) {
      wire::set_message_checksum(part);
      return writer->Write(part);
    });
  });
}

grpc::Status SimulationService::ListRuns(grpc::ServerContext* context, const v1::ListRunsRequest* /*request*/,
                                         v1::ListRunsResponse* response) {
  return responded("ListRuns", *context, [&] {
    for (v1::RunStatus& status : store_.list(rpc::identity_of(*context))) *response->add_runs() = std::move(status);
  });
}

grpc::Status SimulationService::DeleteRun(grpc::ServerContext* context, const v1::DeleteRunRequest* request,
                                          v1::DeleteRunResponse* /*response*/) {
  return responded("DeleteRun", *context, [&] {
    store_.remove(request->run_id(), rpc::identity_of(*context));
    spdlog::info("event=run_forgotten run={}", request->run_id());
  });
}

grpc::Status SimulationService::GetCapacity(grpc::ServerContext* context, const v1::GetCapacityRequest* /*request*/,
                                            v1::Capacity* response) {
  return responded("GetCapacity", *context, [&] {
    *response = store_.capacity();
    v1::Capacity::Slot& watchers = *response->add_slots();
    watchers.set_resource("watchers");
    watchers.set_used(n_watchers());
    watchers.set_limit(store_.limits().max_watchers);
  });
}

}  // namespace heelstrike::mbs
