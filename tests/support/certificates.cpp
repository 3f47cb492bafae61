#include "tests/support/certificates.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <utility>

namespace heelstrike::testing_support {

namespace {

void openssl(const std::string& arguments) {
  const std::string command = "openssl " + arguments + " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace

Certificates::Certificates(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::ofstream(file("server.ext")) << "subjectAltName=DNS:contact.test\n";
  for (const std::string ca : {"ca", "other"}) {
    openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=" + ca + " -keyout " + key(ca) + " -out " +
            certificate(ca));
  }
  issue("server", "ca", " -extfile " + file("server.ext"));
  issue("client", "ca", "");
  issue("guest", "ca", "");
  issue("stranger", "other", "");
}

void Certificates::issue(const std::string& name, const std::string& ca, const std::string& extensions) const {
  const std::string request = file(name + ".csr");
  openssl("req -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + key(name) + " -out " + request);
  openssl("x509 -req -days 2 -in " + request + " -CA " + certificate(ca) + " -CAkey " + key(ca) +
          " -CAcreateserial -out " + certificate(name) + extensions);
}

}  // namespace heelstrike::testing_support
