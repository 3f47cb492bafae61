#include "rpc/tls_diagnosis.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <memory>
#include <utility>

#include "common/errors/error.hpp"
#include "rpc/address.hpp"

namespace heelstrike::rpc {

namespace {

template <auto release>
struct OpensslDeleter {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, OpensslDeleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, OpensslDeleter<SSL_free>>;
using Bio = std::unique_ptr<BIO, OpensslDeleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, OpensslDeleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, OpensslDeleter<EVP_PKEY_free>>;

/// A connection with timeouts of reads and writes.
class ProbeSocket {
 public:
  ProbeSocket(const Address& address, std::chrono::milliseconds timeout) {
    address.is_unix ? connect_unix(address) : connect_tcp(address, timeout);
    limit(timeout);
  }
  ~ProbeSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  ProbeSocket(const ProbeSocket&) = delete;
  ProbeSocket& operator=(const ProbeSocket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  void open(int family) { fd_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  void close_socket() { ::close(std::exchange(fd_, -1)); }
  void limit(std::chrono::milliseconds timeout) const {
    const timeval time{.tv_sec = timeout.count() / 1000, .tv_usec = (timeout.count() % 1000) * 1000};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
  }
  void connect_unix(const Address& address) {
    sockaddr_un target{};
    target.sun_family = AF_UNIX;
    address.path.copy(target.sun_path, sizeof(target.sun_path) - 1);
    open(AF_UNIX);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0) close_socket();
  }
  void connect_tcp(const Address& address, std::chrono::milliseconds timeout) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, OpensslDeleter<::freeaddrinfo>> all(found);
    for (const addrinfo* one = found; one != nullptr && fd_ < 0; one = one->ai_next) {
      open(one->ai_family);
      limit(timeout);  // also limits connect()
      if (::connect(fd_, one->ai_addr, one->ai_addrlen) != 0) close_socket();
    }
  }

  int fd_ = -1;
};

std::string from_verification(long result, const Endpoint& endpoint, const std::string& name) {
  switch (result) {
    case X509_V_OK:
      return {};
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired; renew it";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet; do the clocks of both machines agree?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format(
          "its certificate is not valid for the name '{}'; use the name of the certificate in the address, or set it "
          "with --tls-authority",
          name);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format(
          "its certificate was not signed by the authority in {}; give the file of the authority that signed it",
          endpoint.tls.ca_file);
    default:
      return fmt::format("its certificate is not accepted: {}", X509_verify_cert_error_string(result));
  }
}

std::string from_alert(const Endpoint& endpoint) {
  const unsigned long error = ERR_peek_last_error();
  const std::string own = endpoint.tls.certificate_file;
  switch (ERR_GET_REASON(error)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return "it does not use TLS; leave --tls-ca out, or give the server a certificate";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "it requires a client certificate; give one with --tls-cert and --tls-key";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return fmt::format("it does not accept the client certificate {}: another authority signed it", own);
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return fmt::format("the client certificate {} has expired; renew it", own);
    default:
      return {};
  }
}

Context context_of(const Endpoint& endpoint) {
  Context context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_load_verify_locations(context.get(), endpoint.tls.ca_file.c_str(), nullptr);
  if (!endpoint.tls.certificate_file.empty()) {
    SSL_CTX_use_certificate_chain_file(context.get(), endpoint.tls.certificate_file.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), endpoint.tls.key_file.c_str(), SSL_FILETYPE_PEM);
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  constexpr unsigned char http2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), http2, sizeof(http2));
  return context;
}

/// Blocks SIGPIPE: OpenSSL writes to a closed connection would otherwise end the process instead of failing.
class SigpipeBlocker {
 public:
  SigpipeBlocker() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~SigpipeBlocker() {
    const timespec at_once{};
    if (sigismember(&before_, SIGPIPE) == 0) (void)sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocker(const SigpipeBlocker&) = delete;
  SigpipeBlocker& operator=(const SigpipeBlocker&) = delete;

 private:
  sigset_t signal_{}, before_{};
};

/// Performs the handshake and reads the first data of the server: with TLS 1.3 it rejects a client only then.
std::string perform_handshake(const Endpoint& endpoint, const Address& address, int socket) {
  const SigpipeBlocker no_signal;
  const Context context = context_of(endpoint);
  const Session session(SSL_new(context.get()));
  const std::string name = !endpoint.tls.authority.empty() ? endpoint.tls.authority
                           : address.is_unix               ? "localhost"
                                                           : address.host;
  SSL_set_tlsext_host_name(session.get(), name.c_str());
  X509_VERIFY_PARAM* expected = SSL_get0_param(session.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) != 1) SSL_set1_host(session.get(), name.c_str());
  SSL_set_fd(session.get(), socket);
  ERR_clear_error();
  char byte = 0;
  if (SSL_connect(session.get()) == 1 && SSL_read(session.get(), &byte, 1) > 0) return {};
  const std::string verified = from_verification(SSL_get_verify_result(session.get()), endpoint, name);
  return verified.empty() ? from_alert(endpoint) : verified;
}

/// A server with TLS replies to plain text with an alert.
bool has_tls_alert_reply(int socket) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  char first = 0;
  constexpr char alert_record = 0x15;
  return ::send(socket, preface.data(), preface.size(), MSG_NOSIGNAL) > 0 && ::recv(socket, &first, 1, 0) == 1 &&
         first == alert_record;
}

}  // namespace

std::string diagnose(const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  const Address address = parse_address(endpoint.address);
  const ProbeSocket plug(address, timeout);
  if (plug.fd() < 0) return {};
  if (!endpoint.tls.enabled()) {
    return has_tls_alert_reply(plug.fd()) ? "it uses TLS; give the file of its authority with --tls-ca" : "";
  }
  return perform_handshake(endpoint, address, plug.fd());
}

void check_key_pair(const std::string& certificate, const std::string& key, const std::string& what) {
  const Bio certificate_text(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  const Bio key_text(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  const Certificate leaf(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Key secret(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  if (!leaf || !secret) {
    throw input_error("tls", fmt::format("{}: the {} cannot be read: expected PEM text, a key without passphrase", what,
                                         leaf ? "key" : "certificate"));
  }
  if (X509_check_private_key(leaf.get(), secret.get()) == 1) return;
  throw input_error("tls",
                    fmt::format("{}: certificate and key do not match: the key belongs to another certificate", what));
}

}  // namespace heelstrike::rpc
