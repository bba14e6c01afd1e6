#include "data/sealed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/crc32c.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/sha256.h"

namespace ttt::data {
namespace {

namespace fs = std::filesystem;

std::string why(int error) { return std::strerror(error); }
std::string quoted(const SealKind& kind, const std::string& path) { return kind.name + " '" + path + "' "; }

const char* digest_name(Digest d) { return d == Digest::kCrc32c ? "crc32c" : "sha256"; }
std::size_t digits(Digest d) { return d == Digest::kCrc32c ? 8 : 64; }

std::string seal_text(const SealKind& kind, int version, const std::string& digest, std::uint64_t bytes) {
  char size[32];
  std::snprintf(size, sizeof size, "%020llu", static_cast<unsigned long long>(bytes));
  std::string text = kind.magic + " " + std::to_string(version) + "\n" + digest_name(kind.digest) + " " + digest +
                     "\nbytes " + size + "\n";
  text.resize(kSealBytes, '\0');
  return text;
}

class Sum {
 public:
  explicit Sum(Digest digest) : digest_(digest) {}
  void add(const char* bytes, std::size_t count) {
    if (digest_ == Digest::kCrc32c) crc_ = crc32c(bytes, count, crc_);
    else sha_.update({bytes, count});
  }
  std::string hex() {
    if (digest_ == Digest::kSha256) return sha_.hex();
    char text[9];
    std::snprintf(text, sizeof text, "%08x", crc_);
    return text;
  }

 private:
  Digest digest_;
  std::uint32_t crc_ = 0;
  Sha256 sha_;
};

// Of all `bytes`, with the seal that they should have.
std::string digest_of(int descriptor, const SealKind& kind, int version, std::uint64_t bytes, const std::string& path) {
  Sum sum(kind.digest);
  const std::string head = seal_text(kind, version, std::string(digits(kind.digest), '0'), bytes);
  sum.add(head.data(), head.size());
  std::vector<char> buffer(4 << 20);
  for (std::uint64_t at = kSealBytes; at < bytes;) {
    const ssize_t n =
        ::pread(descriptor, buffer.data(), std::min<std::uint64_t>(buffer.size(), bytes - at), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw DataError(
          quoted(kind, path) + "cannot be read (" + (n < 0 ? why(errno) : "it ends too early") + "). " + kind.remedy);
    sum.add(buffer.data(), static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return sum.hex();
}

}  // namespace

void seal(const std::string& path, const SealKind& kind, int version) {
  const std::uint64_t bytes = fs::file_size(path);
  const Descriptor file(path, O_RDWR);
  if (file.get() < 0) throw Error(quoted(kind, path) + "cannot be opened (" + why(errno) + "). Choose another folder.");
  const std::string head = seal_text(kind, version, digest_of(file.get(), kind, version, bytes, path), bytes);
  if (::pwrite(file.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()))
    throw Error(quoted(kind, path) + "cannot be written (" + why(errno) + "). Free space or choose another folder.");
}

int check_seal(const std::string& path, const SealKind& kind) {
  const std::string what = quoted(kind, path), remedy = " " + kind.remedy;
  if (!fs::is_regular_file(path)) throw UsageError(what + "is not a file. Name a file that exists.");
  const Descriptor file(path, O_RDONLY);
  std::array<char, kSealBytes> head{};
  if (file.get() < 0)
    throw UsageError(what + "cannot be opened (" + why(errno) + "). Give this user the right to read it.");
  const ssize_t n = ::pread(file.get(), head.data(), head.size(), 0);
  if (n < 0) throw DataError(what + "cannot be read (" + why(errno) + ")." + remedy);
  int version = 0;
  char digest[65] = {};
  unsigned long long bytes = 0;
  const std::string text(head.data(), static_cast<std::size_t>(n)),
      form = kind.magic + " %d\n" + digest_name(kind.digest) + " %64[0-9a-f]\nbytes %20llu\n";
  if (!text.starts_with(kind.magic + " ") || std::sscanf(text.c_str(), form.c_str(), &version, digest, &bytes) != 3)
    throw DataError(
        what + "does not begin with the checksum of such a file: it is another file, or damaged or cut short there." +
        remedy);
  if (seal_text(kind, version, digest, bytes) != text) throw DataError(what + "is damaged in its head." + remedy);
  const std::uint64_t size = fs::file_size(path);
  if (size != bytes)
    throw DataError(what + "has " + std::to_string(size) + " bytes of " + std::to_string(bytes) +
                    ": it was cut short or added to." + remedy);
  if (digest_of(file.get(), kind, version, bytes, path) != digest)
    throw DataError(what + "does not match its checksum: bytes of it have changed." + remedy);
  return version;
}

}  // namespace ttt::data
