#include "common/contact/contact.hpp"

#include "common/errors/error.hpp"
#include "common/friction/local_problem.hpp"

namespace heelstrike {

friction::LocalProblem Contact::local_problem(std::size_t /*pair*/, const PairState& /*state*/) {
  throw Error(ErrorCode::unimplemented,
              "problems of friction are written out where the contact is in the same process");
}

}  // namespace heelstrike
