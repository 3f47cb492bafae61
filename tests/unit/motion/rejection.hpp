/// The message of an input error.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "common/errors/error.hpp"

namespace heelstrike {

template <typename Call>
std::string rejection_error(Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input) << e.what();
    return e.what();
  }
  return "nothing was rejected";
}

}  // namespace heelstrike
