/// Content digests: what addresses uploaded assets and identifies prepared sessions and checkpoints.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace heelstrike {

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// SHA-256 of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// Of all that has been added; more may follow.
  [[nodiscard]] std::string hex() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* state) const;
  };
  using State = std::unique_ptr<evp_md_ctx_st, Free>;
  State state_;
};

}  // namespace heelstrike
