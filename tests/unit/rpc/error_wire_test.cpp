// Errors cross the wire with everything that callers use: code, message, field, whether a retry is useful.
#include "rpc/wire/error_wire.hpp"

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <string>

#include "common/errors/plain_text.hpp"

namespace heelstrike::wire {
namespace {

struct Row {
  ErrorCode code;
  v1::Error::Code message;
  grpc::StatusCode status;
  ErrorCode is_inferred;  ///< classification of a status without details
};

// The table of docs/reference/protocol.md.
constexpr Row rows[] = {
    {ErrorCode::invalid_input, v1::Error::CODE_INVALID_INPUT, grpc::INVALID_ARGUMENT, ErrorCode::invalid_input},
    {ErrorCode::out_of_order, v1::Error::CODE_OUT_OF_ORDER, grpc::FAILED_PRECONDITION, ErrorCode::out_of_order},
    {ErrorCode::not_found, v1::Error::CODE_NOT_FOUND, grpc::NOT_FOUND, ErrorCode::not_found},
    {ErrorCode::limit, v1::Error::CODE_LIMIT, grpc::RESOURCE_EXHAUSTED, ErrorCode::limit},
    {ErrorCode::unavailable, v1::Error::CODE_UNAVAILABLE, grpc::UNAVAILABLE, ErrorCode::unavailable},
    {ErrorCode::deadline, v1::Error::CODE_DEADLINE, grpc::DEADLINE_EXCEEDED, ErrorCode::deadline},
    {ErrorCode::cancelled, v1::Error::CODE_CANCELLED, grpc::CANCELLED, ErrorCode::cancelled},
    {ErrorCode::version_mismatch, v1::Error::CODE_VERSION_MISMATCH, grpc::FAILED_PRECONDITION, ErrorCode::out_of_order},
    {ErrorCode::recoverable, v1::Error::CODE_RECOVERABLE, grpc::ABORTED, ErrorCode::recoverable},
    {ErrorCode::solver_failed, v1::Error::CODE_SOLVER_FAILED, grpc::ABORTED, ErrorCode::recoverable},
    {ErrorCode::file, v1::Error::CODE_FILE, grpc::FAILED_PRECONDITION, ErrorCode::out_of_order},
    {ErrorCode::unimplemented, v1::Error::CODE_UNIMPLEMENTED, grpc::UNIMPLEMENTED, ErrorCode::unimplemented},
    {ErrorCode::internal, v1::Error::CODE_INTERNAL, grpc::INTERNAL, ErrorCode::internal},
};

class ErrorTable : public testing::TestWithParam<Row> {};

TEST_P(ErrorTable, EveryCodeHasItsMessageAndStatus) {
  const Error error(GetParam().code, "expected 1 m, found 2 m", "contact.ball.radius", true);
  v1::Error message;
  to_proto(error, message);
  EXPECT_EQ(message.code(), GetParam().message);
  EXPECT_EQ(to_status(error).error_code(), GetParam().status);
  EXPECT_EQ(to_status(error).error_message(), "expected 1 m, found 2 m");
}

TEST_P(ErrorTable, DetailsRestoreTheWholeError) {
  const Error error(GetParam().code, "expected 1 m, found 2 m", "contact.ball.radius", true);
  v1::Error details;
  to_proto(error, details);
  const Error back = from_status(to_status(error), details.SerializeAsString(), "Evaluate at host:1");
  EXPECT_EQ(back.code(), error.code());
  EXPECT_STREQ(back.what(), error.what());
  EXPECT_EQ(back.field(), error.field());
  EXPECT_EQ(back.retryable(), error.retryable());
}

TEST_P(ErrorTable, StatusWithoutDetailsIsClassifiedAndNamesTheCall) {
  const Error back = from_status(grpc::Status(GetParam().status, "why"), "", "Evaluate at host:1");
  EXPECT_EQ(to_string(back.code()), to_string(GetParam().is_inferred));
  EXPECT_NE(std::string(back.what()).find("Evaluate at host:1"), std::string::npos) << back.what();
  EXPECT_NE(std::string(back.what()).find("why"), std::string::npos) << back.what();
}

INSTANTIATE_TEST_SUITE_P(AllCodes, ErrorTable, testing::ValuesIn(rows));

TEST(ErrorWire, TableCoversEveryCode) {
  EXPECT_EQ(std::size(rows), static_cast<std::size_t>(ErrorCode::internal) + 1);
  // CODE_UNSPECIFIED is no error that a program may send.
  EXPECT_EQ(static_cast<int>(std::size(rows)), v1::Error::Code_descriptor()->value_count() - 1);
}

TEST(ErrorWire, UnknownCodeIsAnInternalErrorNotASuccess) {
  EXPECT_EQ(from_proto(v1::Error{}).code(), ErrorCode::internal);
}

TEST(ErrorWire, LongMessageFitsTheHeadersOfGrpc) {
  const Error error(ErrorCode::invalid_input, std::string(100'000, 'x'));
  EXPECT_LT(to_status(error).error_message().size(), 2000U);
}

TEST(ErrorWire, TextInAnotherEncodingStaysReadable) {
  const Error error = file_error("h\xF6he.stl",
                                 "h\xF6he.stl: expected a mesh, found none; gr\xC3\xBC\xC3\x9F"
                                 "e");
  v1::Error message;
  to_proto(error, message);
  v1::Error back;
  ASSERT_TRUE(back.ParseFromString(message.SerializeAsString())) << "raw bytes make a message unreadable";
  EXPECT_EQ(std::string(from_proto(back).what()),
            "h\\xf6he.stl: expected a mesh, found none; gr\xC3\xBC\xC3\x9F"
            "e");
  EXPECT_EQ(from_proto(back).field(), "h\\xf6he.stl");
  const Error raw(ErrorCode::invalid_input, std::string(100'000, '\xF6'));
  EXPECT_LT(to_status(raw).error_message().size(), 2000U) << "escaping must not undo the shortening";
}

TEST(PlainText, EscapesControlCharactersAndKeepsReadableText) {
  EXPECT_EQ(strip_control_characters("a\tb\n\033[2Jc\r\xC2\x9B"), "a\tb\n\\x1b[2Jc\\x0d\\xc2\\x9b");
  EXPECT_EQ(strip_control_characters("\xE2\x80\xAE"
                                     "right to left"),
            "\\xe2\\x80\\xaeright to left");
  EXPECT_EQ(one_line("x\nlevel=error \"quoted\" \\"), "x\\nlevel=error \\\"quoted\\\" \\\\");
  EXPECT_EQ(one_line("12345678", 4), "1234...");
  // RFC 3629: an overlong slash, half a surrogate pair, beyond the last character, a truncated character.
  for (const std::string bad : {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_EQ(valid_utf8(bad).find(bad), std::string::npos) << "kept";
  }
  EXPECT_EQ(valid_utf8("\xE2\x82\xAC \xF0\x9F\xA6\xB6"), "\xE2\x82\xAC \xF0\x9F\xA6\xB6");
}

}  // namespace
}  // namespace heelstrike::wire
