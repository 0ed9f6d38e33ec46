#pragma once

#include "core/error.hpp"
#include "core/hash.hpp"
#include "measure/descriptor.hpp"
#include "net/artifact_store.hpp"
#include "net/manifest.hpp"
#include "proto/wire.pb.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attune::net {

/// How contents come over a connection: who wants them asks for parts in order, a window of bytes ahead, and so decides
/// how much is ever on its way; who has them answers each ask. What has come before a break is not asked for again.

struct transfer_limits {
  std::uint32_t part_bytes = 256u << 10; ///< in one message; at most part_most
  std::uint64_t window_bytes = 4u << 20; ///< asked for and not come
  static constexpr std::uint32_t part_most = 1u << 20;
};

/// An Envelope that holds an ArtifactPart, read where it lies, or written: parts are most of all bytes on the wire, and
/// a message that owns its data would copy them once more at each end.
struct artifact_part {
  std::string_view sha256, data;
  std::uint64_t offset = 0;
  bool gone = false;
};
/// None where `body` is any other message, or cannot be read.
std::optional<artifact_part> read_part(std::string_view body);

/// The end that wants contents. It owns no socket: `ask` sends, take() is told what came.
/// Thread-safety: one owner, the connection's thread.
class artifact_receiver {
public:
  using done = std::function<void(status)>;

  artifact_receiver(std::shared_ptr<artifact_sink> into, std::function<void(const wire::v1::ArtifactFetch&)> ask,
                    const transfer_limits& limits = {});
  ~artifact_receiver();
  artifact_receiver(const artifact_receiver&) = delete;
  artifact_receiver& operator=(const artifact_receiver&) = delete;

  /// Brings the contents that are missing, once however many want them. `then` is called once: at once where all is
  /// there, at the latest by fail(). Errors it is told: network, io, not_found (the other side does not have it any
  /// more). The names do not matter here.
  void want(const manifest& files, done then);
  /// What came, in answer to the oldest ask. Errors: network: it was not asked for, or is not what was asked; the
  /// connection is to be ended then. Contents that turn out wrong fail alone.
  status take(const artifact_part& part);
  status take(const wire::v1::ArtifactPart& part);
  /// The connection is over: who waits is told. What has come stays for another time.
  void fail(const error& why);

  /// Bytes that are asked for and have not come.
  std::uint64_t in_flight() const noexcept { return flying_; }
  bool idle() const noexcept { return files_.empty(); }

private:
  struct wish {
    std::size_t missing = 0;
    std::optional<error> failed;
    done then;
  };
  struct file {
    std::uint64_t size = 0, asked = 0;
    std::unique_ptr<incoming> into; ///< none: it has not begun
    bool lost = false;              ///< what still comes of it is let go
    std::vector<std::shared_ptr<wish>> wanted_by;
  };
  struct asked {
    digest what;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
  };
  struct hash_of {
    std::size_t operator()(const digest& d) const noexcept;
  };

  void pump();
  void settle(const digest& what, const status& how);

  std::shared_ptr<artifact_sink> into_;
  std::function<void(const wire::v1::ArtifactFetch&)> ask_;
  transfer_limits limits_;
  std::unordered_map<digest, file, hash_of> files_; ///< that are missing
  std::deque<digest> queue_;                        ///< of them not asked for to their end
  std::deque<asked> asks_;                          ///< open, the oldest first
  std::uint64_t flying_ = 0;
  std::vector<std::pair<std::shared_ptr<wish>, status>> told_; ///< to be told when it is consistent again
};

/// The end that has contents: in files, where they lie. It gives what it was told to offer on this connection and
/// nothing else, so that a hash that somebody guessed or saw is no key to what others have sent. Whether a file is
/// still what it was when it was listed, the other end finds out: it checks the hash. Thread-safety: one owner, the
/// connection's thread.
class artifact_sender {
public:
  static constexpr std::size_t withdrawn_most = 1024;

  /// The files of `files` below `folder`, from now on, until as much is withdrawn.
  void offer(const manifest& files, const std::string& folder);
  void withdraw(const manifest& files, const std::string& folder);
  /// One file, wherever it lies.
  void offer(const artifact_file& file, std::string path);

  /// The answer to an ask. Where the contents are gone, or were lately withdrawn, it says so. Errors: network: an ask
  /// for what was not offered, or beyond its end, or too much; the connection is to be ended then.
  status answer(const wire::v1::ArtifactFetch& ask, wire::v1::ArtifactPart& out);
  /// The same as the bytes of an Envelope, for link::send(). `out` is written over; its memory is used again.
  status answer(const wire::v1::ArtifactFetch& ask, std::string& out);

private:
  /// The file that is asked for, open; -1 where it is gone.
  result<int> find(const wire::v1::ArtifactFetch& ask);
  static bool read(int file, std::uint64_t offset, char* to, std::size_t n);
  void given(const wire::v1::ArtifactFetch& ask);

  struct offered {
    std::uint64_t size = 0;
    std::vector<std::string> paths; ///< one for each time
  };
  struct hash_of {
    std::size_t operator()(const digest& d) const noexcept;
  };
  std::unordered_map<digest, offered, hash_of> offered_;
  std::deque<digest> withdrawn_; ///< the last ones: an ask for them may have been on its way
  struct reading {
    digest what;
    measure::descriptor file;
    std::uint64_t size = 0;
  };
  std::optional<reading> open_; ///< what was asked for last
};

} // namespace attune::net
