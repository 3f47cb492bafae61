/// Content digests, which address uploaded assets and identify prepared sessions and checkpoints.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace heelstrike {

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// Digest of all bytes added so far; more may follow.
  [[nodiscard]] std::string hex() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* state) const;
  };
  using State = std::unique_ptr<evp_md_ctx_st, Free>;
  State state_;
};

}  // namespace heelstrike
