"""The checks find violations, and accept valid text."""
import unittest

import includes
import markdown
import references
import retired_words
import words


def include_complaints(file, text, known=("common/contact/contact.hpp", "rpc/channel.hpp", "fem_server/fem/mesh.hpp",
                                          "mbs_server/formulation/body.hpp")):
    return list(includes.complaints([(file, text)], known))


class Includes(unittest.TestCase):
    def test_allowed_edges_pass(self):
        for file, target in [
            ("mbs_server/coupling/a.cpp", '"common/contact/contact.hpp"'),
            ("mbs_server/service/a.cpp", '"rpc/channel.hpp"'),
            ("mbs_server/service/a.cpp", "<grpcpp/grpcpp.h>"),
            ("fem_server/bodies/a.cpp", '"fem_server/fem/mesh.hpp"'),
            ("client/run/a.cpp", '"heelstrike/v1/contact.grpc.pb.h"'),
            ("fem_server/fem/a.cpp", "<deal.II/grid/tria.h>"),
            ("mbs_server/integrators/a.cpp", "<cvode/cvode.h>"),
            ("tests/unit/a.cpp", '"mbs_server/formulation/body.hpp"'),
            ("common/contact/a.cpp", "<Eigen/Dense>"),
        ]:
            self.assertEqual(include_complaints(file, f"#include {target}\n"), [], f"{file} {target}")

    def test_forbidden_edges_are_found(self):
        for file, target in [
            ("mbs_server/coupling/a.cpp", '"rpc/channel.hpp"'),
            ("mbs_server/coupling/a.cpp", '"heelstrike/v1/contact.pb.h"'),
            ("mbs_server/coupling/a.cpp", "<grpcpp/grpcpp.h>"),
            ("mbs_server/formulation/a.hpp", '"fem_server/fem/mesh.hpp"'),
            ("mbs_server/service/a.cpp", '"fem_server/fem/mesh.hpp"'),
            ("mbs_server/formulation/a.cpp", "<deal.II/grid/tria.h>"),
            ("fem_server/fem/a.cpp", '"mbs_server/formulation/body.hpp"'),
            ("fem_server/fem/a.cpp", "<cvode/cvode.h>"),
            ("client/run/a.cpp", '"mbs_server/formulation/body.hpp"'),
            ("common/contact/a.cpp", '"rpc/channel.hpp"'),
            ("rpc/a.cpp", '"mbs_server/formulation/body.hpp"'),
            ("common/contact/a.cpp", "<google/protobuf/message.h>"),
            ("common/contact/a.cpp", "<common/contact/contact.hpp>"),
            ("common/contact/a.cpp", '"common/contact/missing.hpp"'),
            ("elsewhere/a.cpp", "<vector>"),
            ("python/source/a.cpp", '"common/contact/contact.hpp"'),
            ("include/heelstrike/a.hpp", '"common/contact/contact.hpp"'),
            ("include/heelstrike/a.hpp", "<grpcpp/grpcpp.h>"),
        ]:
            self.assertEqual(len(include_complaints(file, f"#pragma once\n#include {target}\n")), 1, f"{file} {target}")

    def test_names_file_and_line(self):
        self.assertIn("common/contact/a.hpp:3:",
                      include_complaints("common/contact/a.hpp", '#pragma once\n\n#  include "mbs_server/formulation/body.hpp"\n')[0])


class References(unittest.TestCase):
    def test_citations_are_found(self):
        self.assertEqual(references.cited("/// see [hunt1975] and\n/// [lee_wang1983b].", False),
                         [(1, "hunt1975"), (2, "lee_wang1983b")])
        self.assertEqual(references.cited("/// law of [thesis] in\n/// docs/references.bib:", False), [(1, "thesis")])
        self.assertEqual(references.cited('.reference = "flores",', True), [(1, "flores")])

    def test_code_and_links_are_not_citations(self):
        self.assertEqual(references.cited("double y = table[flores2011]; int z = f()[a1999];", False), [])
        self.assertEqual(references.cited("[flores2011](https://example.org)", False), [])


class Markdown(unittest.TestCase):
    def test_long_lines_are_found(self):
        for text in ["word " * 21, "- " + "word " * 20, "```\n```\n" + "word " * 21]:
            self.assertEqual(len(list(markdown.complaints("a.md", text))), 1, text)

    def test_tables_code_comments_and_links_pass(self):
        for text in ["word " * 20, "| " + "cell | " * 20, "    " + "a + " * 30, "```\n" + "word " * 21 + "\n```",
                     "<!-- guide: setup " + "word " * 20 + "-->", "- [text](https://example.org/" + "a" * 100 + ")"]:
            self.assertEqual(list(markdown.complaints("a.md", text)), [], text)


class RetiredWords(unittest.TestCase):
    def test_identifiers_are_found_and_prose_and_strings_are_not(self):
        found = list(retired_words.complaints("a.cpp", "int told_state = 0;  // told\nauto x = tellUser(\"told\");\n"))
        self.assertEqual(len(found), 2, found)
        self.assertIn("a.cpp:1: told_state", found[0])
        self.assertEqual(list(retired_words.complaints("a.py", '"""told"""\nreported = stream.tellg()\n')), [])

    def test_names_of_tests_are_sentences(self):
        self.assertEqual(len(list(retired_words.complaints("a_test.cpp", "TEST(Page, KnowsWhoAsked) {}\n"))), 3)
        self.assertEqual(len(list(retired_words.complaints("a_test.py", "def test_errors_are_told(self):\n"))), 1)
        self.assertEqual(list(retired_words.complaints("a.cpp", "int known = who;\n")), [])


class Words(unittest.TestCase):
    def test_notes_and_paths_are_found(self):
        for text in ["// TO" + "DO: later", "see /ho" + "me/somebody/file", "'/wo" + "rk/x'", "<<<<<<< " + "HEAD", "blank \n"]:
            self.assertEqual(len(list(words.complaints("a.md", text))), 1, text)

    def test_ordinary_text_passes(self):
        for text in ["kinetic/work/loads", "${HOME}/results", "build/wo" + "rk/x", "https://example.org/ho" + "me/x", "=======\n"]:
            self.assertEqual(list(words.complaints("a.md", text)), [], text)

    def test_calls_for_descriptors_are_found_in_sources(self):
        for call in ("log(message.ShortDebugString());", "MessageToJsonString(message, &text);", "message.GetReflection();",
                     "v1::Error::descriptor()->name();", "any.PackFrom(message);"):
            for file, n in (("library/fmu/a.cpp", 1), ("rpc/wire/a.hpp", 1), ("tests/unit/rpc/a.cpp", 0), ("docs/a.md", 0)):
                self.assertEqual(len(list(words.complaints(file, call))), n, f"{file}: {call}")
        self.assertEqual(list(words.complaints("library/servers/a.cpp", "poll(child.descriptor());")), [])


if __name__ == "__main__":
    unittest.main()
