// Checks of external XML before it is parsed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"

namespace heelstrike {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::string& text) {
  try {
    check_xml_nesting(text, "part.xml", "model");
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "model");
    return error.what();
  }
  return "accepted";
}

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(XmlNesting, DepthIsLimitedAcrossOtherContent) {
  EXPECT_EQ(message_of(nested(max_xml_depth, "<a>", "</a>")), "accepted");
  const auto rejected = AllOf(HasSubstr("part.xml, line 1001"), HasSubstr("at most 1000 nested elements"));
  EXPECT_THAT(message_of(nested(max_xml_depth + 1, "<a>\n", "</a>")), rejected);
  EXPECT_THAT(message_of(nested(max_xml_depth + 1, "<a b='/>' c=\"</a>\">\n", "</a>")), rejected);
  EXPECT_THAT(message_of(nested(max_xml_depth + 1, "<a><!-- </a> --><![CDATA[</a>]]><?p </a>?>\n", "</a>")), rejected);
  EXPECT_THAT(message_of(nested(50'000, "<a>\n", "")), rejected);  // not closed
}

TEST(XmlNesting, LongFilesAreNotDeep) {
  std::string text = "<a>";
  for (std::size_t i = 0; i < 3 * max_xml_depth; ++i) text += "<b/><c d='>'></c><!-- <e> --><![CDATA[<e>]]><?e <e> ?>";
  EXPECT_EQ(message_of(text + "</a>"), "accepted");
}

TEST(XmlNesting, EntitiesAndOtherEncodingsAreRejected) {
  EXPECT_EQ(message_of("<!DOCTYPE mujoco><a/>"), "accepted");
  EXPECT_THAT(message_of("<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;'>]><a>&c;</a>"),
              AllOf(HasSubstr("line 2"), HasSubstr("entity declarations")));
  EXPECT_THAT(message_of(std::string("\xff\xfe<\0a\0", 6)), HasSubstr("UTF-8"));
  EXPECT_THAT(message_of(std::string("<\0a\0", 4)), HasSubstr("UTF-8"));
  EXPECT_EQ(message_of("\xef\xbb\xbf<a/>"), "accepted");  // a byte-order mark of UTF-8
}

/// Truncated text is left to the parser.
TEST(XmlNesting, ParsingInvalidTextTerminates) {
  for (const char* text : {"", "<", "<!", "<!--", "<![CDATA[", "<?", "</", "<a", "<a b='", "</a></a>", "text"}) {
    EXPECT_EQ(message_of(text), "accepted") << text;
  }
}

TEST(StrictXml, CompletesWhatTinyXmlReads) {
  EXPECT_EQ(strict_xml("<a b=\"1\"c='>'d=''/>"), "<a b=\"1\" c='>' d=''/>");
  EXPECT_EQ(strict_xml("<a>\n<!-\\- don't\n -\\-><b/></a>"),
            "<a>\n" + std::string(11, ' ') + "\n" + std::string(5, ' ') + "<b/></a>");
  for (const char* same :
       {"<!-- a=\"b\"c --><a b=\"c='d'e\"/>", "<![CDATA[<a b=\"c\"d>]]>", "<?p a=\"b\"c?>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "a=\"b\"c", "", "<", "<!", "<!--", "<a b='", "text <"}) {
    EXPECT_EQ(strict_xml(same), std::string_view(same) == "<!" ? "  " : same);
  }
}

}  // namespace
}  // namespace heelstrike
