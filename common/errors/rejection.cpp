#include "common/errors/rejection.hpp"

#include <new>
#include <string>
#include <system_error>

namespace heelstrike {

Error untyped_error(const std::exception& thrown, std::string_view defect) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) {
    return limit_error(
        "memory",
        "memory: expected enough for this call, found that the limit of the process is reached; use larger elements, "
        "fewer contact nodes or shorter outputs, or raise the limit (ulimit -v, the container's limit)");
  }
  const auto* system = dynamic_cast<const std::system_error*>(&thrown);
  const bool no_thread = system != nullptr && system->code() == std::errc::resource_unavailable_try_again;
  // TBB, which deal.II uses, throws an error without a code.
  if (no_thread || std::string_view(thrown.what()).starts_with("pthread_create has failed")) {
    return limit_error(
        "threads",
        "threads: expected enough for this call, found that the limit of the process or its memory is reached; raise "
        "the limits (ulimit -u, ulimit -v, the container's limits), or use fewer sessions at once");
  }
  return {ErrorCode::internal, std::string(defect) + ": " + thrown.what()};
}

std::shared_ptr<const Error> rejection_error(const std::function<void()>& work) {
  try {
    work();
  } catch (const RecoverableError& error) {
    return std::make_shared<const RecoverableError>(error);
  } catch (const Error& error) {
    return std::make_shared<const Error>(error);
  } catch (const std::exception& error) {
    return std::make_shared<const Error>(untyped_error(error, "defect"));
  }
  return nullptr;
}

}  // namespace heelstrike
