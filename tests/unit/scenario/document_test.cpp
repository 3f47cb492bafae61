#include "scenario/schema/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heelstrike::config {
namespace {

using testing::HasSubstr;

std::string message_of(const std::string& yaml) {
  try {
    (void)load_document(yaml, "f.yaml");
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Document, HasTheLinesOfValuesAndKeys) {
  const Document document = load_document("a: 1\nb:\n  c: [2,\n    3]\n", "f.yaml");
  const Node* c = document.root->find("b")->find("c");
  EXPECT_EQ(document.root->find("a")->line, 1);
  EXPECT_EQ(c->line, 3);
  EXPECT_EQ(c->items.at(1)->line, 4);
  EXPECT_EQ(document.root->entries.at(1).line, 2);
}

TEST(Document, EmittedTextReadsBackEqual) {
  const std::string text = "a: 1.0e-9\nb: \"1.0\"\nc: [1, [2, x]]\nd: {e: \"true\", f: ~}\ng: \"x: y # z\"\n";
  const std::string once = emit_document(*load_document(text, "f.yaml").root);
  EXPECT_EQ(emit_document(*load_document(once, "f.yaml").root), once);
  const Document again = load_document(once, "f.yaml");
  EXPECT_EQ(again.root->find("a")->scalar, "1.0e-9");
  EXPECT_FALSE(again.root->find("b")->plain) << "a quoted number remains text";
  EXPECT_EQ(again.root->find("g")->scalar, "x: y # z");
}

TEST(Document, EmittedKeysKeepTheirLines) {
  const std::string text =
      "a: 1\n# comment\n\nb:\n  c: {d: 2,\n    e: [3,\n 4]}\n  f: |\n    long\n    text\nlast: .5\n";
  const Document before = load_document(text, "f.yaml");
  const Document after = load_document(emit_document(*before.root), "f.yaml");
  EXPECT_EQ(after.root->find("last")->line, 11) << emit_document(*before.root);
  EXPECT_EQ(after.root->find("b")->find("c")->find("e")->items.at(1)->line, 7) << emit_document(*before.root);
  EXPECT_EQ(after.root->find("b")->find("f")->scalar, "long\ntext\n");
}

TEST(Document, ABlankMissesAfterAColon) {
  EXPECT_THAT(message_of("heelstrike:1\nbodies:\n  a: 1\n"),
              HasSubstr("line 1: write a blank after the colon: `heelstrike: 1`"));
  EXPECT_THAT(message_of("a:\n  mass:1.0\n  inertia: [1]\n"),
              HasSubstr("line 2: write a blank after the colon: `mass: 1.0`"));
  EXPECT_EQ(missing_blank("mass: 1.0"), "");
  EXPECT_EQ(missing_blank("bodies:"), "");
}

/// Without the limits the last file alone would take years, which the time limit of every test detects.
TEST(Document, MaliciousFilesAreRejected) {
  EXPECT_THAT(message_of(std::string(100000, '[')), HasSubstr("f.yaml:1: nested deeper than"));
  EXPECT_THAT(message_of(std::string(100000, '{')), HasSubstr("f.yaml:1: "));
  std::string dashes;
  for (int i = 0; i < 20000; ++i) dashes += "- ";
  EXPECT_THAT(message_of(dashes), HasSubstr("nested deeper than"));
  EXPECT_THAT(message_of(std::string(max_document_bytes + 1, ' ')), HasSubstr("at most 8 MiB"));

  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string alias = fmt::format("*a{}", i - 1);
    laughs += fmt::format("a{}: &a{} [{}]\n", i, i, fmt::join(std::vector<std::string>(10, alias), ", "));
  }
  EXPECT_THAT(message_of(laughs), HasSubstr("more than 1000000 values"));
}

}  // namespace
}  // namespace heelstrike::config
