// The library does not register the descriptors of its messages: protobuf takes those of a name once in a process and
// aborts it otherwise, and a unit or a caller's library may come into a process that has them already, that of another
// unit or one of our own programs. Nothing in here asks for descriptors; serialising does without.
// The build gives the generated sources this name instead of protobuf's AddDescriptorsRunner.
#include <google/protobuf/generated_message_reflection.h>

namespace google::protobuf::internal {

AddDescriptorsRunner::AddDescriptorsRunner(const DescriptorTable* /*table*/) {}

}  // namespace google::protobuf::internal
