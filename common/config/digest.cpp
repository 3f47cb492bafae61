#include "common/config/digest.hpp"

#include <openssl/evp.h>

#include <array>

#include "common/errors/error.hpp"

namespace heelstrike {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw Error(ErrorCode::internal, "SHA-256 is not available from OpenSSL on this machine");
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * std::size_t{length});
  for (unsigned int i = 0; i < length; ++i) {
    hex.push_back(digits[digest[i] >> 4]);
    hex.push_back(digits[digest[i] & 0xf]);
  }
  return hex;
}

}  // namespace heelstrike
