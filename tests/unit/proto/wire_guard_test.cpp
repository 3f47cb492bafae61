// A released message never changes its field numbers and types: every line of tests/unit/proto/wire_v1.txt must remain
// valid. New fields are added explicitly:
//
// HEELSTRIKE_UPDATE_WIRE=1 build/release/bin/unit_wire --gtest_filter='WireGuard.*'
//
// which appends new lines and rejects removed or changed ones. A member of a contact response is added explicitly by
// its row in include/heelstrike/response_members.h; its line follows with the next such update.
#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "heelstrike/v1/contact.pb.h"
#include "heelstrike/v1/simulation.pb.h"
#include "heelstrike/v1/types.pb.h"
#include "include/heelstrike/response_members.h"

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::ServiceDescriptor;
using Lines = std::set<std::string>;

const std::string golden_path = std::string(HEELSTRIKE_SOURCE_DIR) + "/tests/unit/proto/wire_v1.txt";

std::string type_of(const FieldDescriptor& field) {
  if (field.is_map()) {
    const auto& entry = *field.message_type();
    return fmt::format("map<{}, {}>", type_of(*entry.map_key()), type_of(*entry.map_value()));
  }
  const std::string label = field.is_repeated() ? "repeated " : field.has_optional_keyword() ? "optional " : "";
  if (field.message_type() != nullptr) return label + field.message_type()->full_name();
  if (field.enum_type() != nullptr) return label + field.enum_type()->full_name();
  return label + field.type_name();
}

void list(const EnumDescriptor& type, Lines& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines.insert(fmt::format("enum {} {} = {}", type.full_name(), type.value(i)->name(), type.value(i)->number()));
  }
}

void list(const Descriptor& type, Lines& lines) {
  if (type.options().map_entry()) return;
  lines.insert("message " + type.full_name());
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    const auto* oneof = field.real_containing_oneof();
    lines.insert(fmt::format("field {} {} = {} : {}{}", type.full_name(), field.name(), field.number(), type_of(field),
                             oneof == nullptr ? "" : " in oneof " + oneof->name()));
  }
  for (int i = 0; i < type.enum_type_count(); ++i) list(*type.enum_type(i), lines);
  for (int i = 0; i < type.nested_type_count(); ++i) list(*type.nested_type(i), lines);
}

void list(const ServiceDescriptor& service, Lines& lines) {
  for (int i = 0; i < service.method_count(); ++i) {
    const auto& method = *service.method(i);
    lines.insert(fmt::format("rpc {} ({}{}) returns ({}{})", method.full_name(),
                             method.client_streaming() ? "stream " : "", method.input_type()->full_name(),
                             method.server_streaming() ? "stream " : "", method.output_type()->full_name()));
  }
}

Lines contract() {
  Lines lines;
  const FileDescriptor* files[] = {heelstrike::v1::Vector3::descriptor()->file(),
                                   heelstrike::v1::PairSpec::descriptor()->file(),
                                   heelstrike::v1::RunEvent::descriptor()->file()};
  for (const auto* file : files) {
    for (int i = 0; i < file->message_type_count(); ++i) list(*file->message_type(i), lines);
    for (int i = 0; i < file->enum_type_count(); ++i) list(*file->enum_type(i), lines);
    for (int i = 0; i < file->service_count(); ++i) list(*file->service(i), lines);
  }
  return lines;
}

Lines read_golden() {
  Lines lines;
  std::ifstream file(golden_path);
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

std::vector<std::string> missing(const Lines& from, const Lines& in) {
  std::vector<std::string> lines;
  std::ranges::set_difference(from, in, std::back_inserter(lines));
  return lines;
}

TEST(WireGuard, ReleasedFieldsAndCallsAreUnchanged) {
  const auto removed = missing(read_golden(), contract());
  EXPECT_TRUE(removed.empty()) << "no longer in the contract, which older peers rely on:\n"
                               << testing::PrintToString(removed)
                               << "\nkeep number and type, or reserve the number and add a new "
                               << "field";
}

TEST(WireGuard, NewFieldsAndCallsAreListed) {
  const Lines golden = read_golden();
  const Lines now = contract();
  if (std::getenv("HEELSTRIKE_UPDATE_WIRE") != nullptr && missing(golden, now).empty()) {
    std::ofstream file(golden_path);
    for (const auto& line : now) file << line << '\n';
    return;
  }
  auto added = missing(now, golden);
  hs::for_each_response_member<>([&](const hs::ResponseMember& row) {
    const std::string field = fmt::format("field heelstrike.v1.ContactResult {} = ", row.name);
    std::erase_if(added, [&](const std::string& line) { return line.starts_with(field); });
  });
  EXPECT_TRUE(added.empty()) << "not in " << golden_path << ":\n"
                             << testing::PrintToString(added)
                             << "\nif intended, run: HEELSTRIKE_UPDATE_WIRE=1 unit_wire "
                             << "--gtest_filter='WireGuard.*'";
}

TEST(WireGuard, ListingIsNotEmpty) {
  EXPECT_GT(read_golden().size(), 100U) << golden_path;
}

}  // namespace
