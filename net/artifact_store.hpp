#pragma once

#include "core/error.hpp"
#include "core/hash.hpp"
#include "measure/descriptor.hpp"
#include "net/hasher.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace attune::net {

/// Contents that are on their way: taken in order, and there when the last byte has come and the hash is right.
class incoming {
public:
  virtual ~incoming() = default;
  /// How many bytes have come, an earlier attempt's among them.
  virtual std::uint64_t offset() const noexcept = 0;
  /// Takes what comes next. With the last byte it is checked. Errors: network, where it is not what it was to be (then
  /// nothing of it is kept), or more than it was to be; io. After an error it takes nothing more.
  virtual status append(std::string_view data) = 0;
};

/// Where contents come to (net/artifact_transfer.hpp).
class artifact_sink {
public:
  virtual ~artifact_sink() = default;
  virtual bool has(const digest& d) = 0;
  /// Errors: io (no room). Contents of no bytes are there at once. They may be there, or under way, already: each
  /// `incoming` stands for itself, and the first that comes to its end counts.
  virtual result<std::unique_ptr<incoming>> receive(const digest& d, std::uint64_t size) = 0;
};

/// A cache of contents by their SHA-256, on disk and bounded in bytes and in number: when there is no room the longest
/// unused go, but none that is held. It survives its process. What is in it at the beginning is checked when it is
/// first asked for, so that a file that a crash has torn or a disk has spoilt is never served; what came only in part
/// goes on where it was. Thread-safety: any thread; an `incoming` has one owner. Checking and copying block.
class artifact_store final : public artifact_sink, public std::enable_shared_from_this<artifact_store> {
public:
  /// One that is held: it stays, and can be copied. Outlives nothing but its store, which it keeps.
  class pin {
  public:
    pin(pin&& other) noexcept = default;
    pin& operator=(pin&& other) noexcept;
    ~pin();
    std::uint64_t size() const noexcept { return size_; }
    /// Writes all of it. Errors: io.
    status copy_to(int file) const;

  private:
    friend class artifact_store;
    pin(std::shared_ptr<artifact_store> store, const digest& what, std::uint64_t size, measure::descriptor file)
        : store_(std::move(store)), what_(what), size_(size), file_(std::move(file)) {}
    std::shared_ptr<artifact_store> store_;
    digest what_;
    std::uint64_t size_ = 0;
    measure::descriptor file_;
  };

  /// The folder is made (mode 0700) where it is missing, and belongs to one process at a time. Errors: io.
  static result<std::shared_ptr<artifact_store>> open(const std::string& folder, std::uint64_t bytes_most,
                                                      std::size_t entries_most = std::size_t{1} << 16);

  bool has(const digest& d) override;
  result<std::unique_ptr<incoming>> receive(const digest& d, std::uint64_t size) override;
  /// How many bytes get() would have to read before it believes it: what an earlier process has left; 0 also where it
  /// is not there.
  std::uint64_t unchecked(const digest& d) const;
  /// None where it is not there (any more). Errors: io.
  result<std::optional<pin>> get(const digest& d);

  /// Of all that is there, or on its way.
  std::uint64_t bytes() const;

private:
  class writer;
  struct entry {
    std::uint64_t size = 0, used = 0; ///< when, by clock_
    std::uint32_t pins = 0;
    std::uint64_t writer = 0; ///< of its part, just now; 0: none
    bool whole = false, checked = false;
  };
  struct hash_of {
    std::size_t operator()(const digest& d) const noexcept;
  };

  artifact_store(std::string folder, std::uint64_t most, std::size_t entries)
      : folder_(std::move(folder)), most_(most), entries_most_(entries) {}
  status look();
  /// For so much more, in so many more.
  status make_room(std::uint64_t bytes, std::size_t entries);
  void drop(const digest& d, bool whole) const;
  std::string path(const digest& d, bool whole = true) const;
  std::string aside(const digest& d, std::uint64_t writer) const;
  error failed(const char* what, const std::string& file) const;

  std::string folder_;
  std::uint64_t most_;
  std::size_t entries_most_;
  measure::descriptor owner_;
  mutable std::mutex lock_; ///< guards what follows
  std::unordered_map<digest, entry, hash_of> entries_;
  std::uint64_t held_ = 0, clock_ = 0, writers_ = 0;
};

} // namespace attune::net
