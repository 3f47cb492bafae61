#include "common/files/digest.hpp"

#include <openssl/evp.h>

#include <array>

#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

void require(bool succeeded) {
  if (!succeeded) throw Error(ErrorCode::internal, "SHA-256 is not available from OpenSSL on this machine");
}

std::string hex_of(const Digest& digest, unsigned int length) {
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * std::size_t{length});
  for (unsigned int i = 0; i < length; ++i) {
    hex.push_back(digits[digest[i] >> 4]);
    hex.push_back(digits[digest[i] & 0xf]);
  }
  return hex;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Digest digest{};
  unsigned int length = 0;
  require(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
  return hex_of(digest, length);
}

void Sha256::Free::operator()(evp_md_ctx_st* state) const {
  EVP_MD_CTX_free(state);
}

Sha256::Sha256() : state_(EVP_MD_CTX_new()) {
  require(state_ && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::add(std::string_view bytes) {
  require(EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() const {
  const State copy(EVP_MD_CTX_new());
  Digest digest{};
  unsigned int length = 0;
  require(copy && EVP_MD_CTX_copy_ex(copy.get(), state_.get()) == 1 &&
          EVP_DigestFinal_ex(copy.get(), digest.data(), &length) == 1);
  return hex_of(digest, length);
}

}  // namespace heelstrike
