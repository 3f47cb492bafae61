/// Certificates for tests of encrypted connections, made with the openssl program.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike::testing_support {

/// Authority "ca" with a certificate "server" for the name "contact.test" and two for clients, "client" and "guest"; a
/// second authority "other" that is not trusted, with a certificate "stranger".
class Certificates {
 public:
  /// @param folder  exists; gets the files. Fails the test when openssl does
  explicit Certificates(std::filesystem::path folder);
  [[nodiscard]] std::string certificate(const std::string& name) const { return file(name + ".pem"); }
  [[nodiscard]] std::string key(const std::string& name) const { return file(name + ".key"); }

 private:
  void issue(const std::string& name, const std::string& ca, const std::string& extensions) const;
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

}  // namespace heelstrike::testing_support
