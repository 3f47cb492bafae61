// The library does not register the descriptors of its messages: protobuf aborts the process if descriptors of one name
// are registered twice, and an FMU or a caller's library may be loaded into a process that has them already, from
// another FMU or a program of Heelstrike. Descriptors are not needed here; serialisation works without. The build gives
// the generated sources this name instead of protobuf's AddDescriptorsRunner.
#include <google/protobuf/generated_message_reflection.h>

namespace google::protobuf::internal {

AddDescriptorsRunner::AddDescriptorsRunner(const DescriptorTable* /*table*/) {}

}  // namespace google::protobuf::internal
