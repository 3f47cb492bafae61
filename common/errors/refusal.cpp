#include "common/errors/refusal.hpp"

#include <exception>

namespace heelstrike {

std::shared_ptr<const Error> refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const RecoverableError& error) {
    return std::make_shared<const RecoverableError>(error);
  } catch (const Error& error) {
    return std::make_shared<const Error>(error);
  } catch (const std::exception& error) {
    return std::make_shared<const Error>(ErrorCode::internal, error.what());
  }
  return nullptr;
}

}  // namespace heelstrike
