#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace attune::storage::formats {

/// The bytes of a file from its beginning to its end, in blocks, and again from the beginning. gzip is recognised by
/// its first bytes and unpacked. Nothing is ever written to what it reads. Memory: one block. Threads: one owner.
class source {
public:
  /// `-` is standard input (put into an unnamed temporary file, since some formats are read twice).
  /// Errors: io, with the path.
  static result<std::unique_ptr<source>> open(const std::string& path);
  /// Over text that the caller keeps; `name` stands in messages.
  static std::unique_ptr<source> of(std::string_view text, std::string name);

  virtual ~source() = default;
  /// The next block, valid until the next call; empty at the end. Errors: io (cannot be read, damaged where it is
  /// compressed).
  virtual result<std::string_view> next() = 0;
  /// Back to the beginning.
  virtual status rewind() = 0;
  const std::string& name() const noexcept { return name_; }

protected:
  explicit source(std::string name) : name_(std::move(name)) {}

private:
  std::string name_;
};

/// The lines of a source, numbered from 1, without their ends (`\n` or `\r\n`) and without a byte order mark.
class line_reader {
public:
  /// A longer line is skipped and says so.
  static constexpr std::size_t longest = std::size_t{32} << 20;

  explicit line_reader(source& from) : from_(from) {}

  /// The next line into text(); false at the end, and where the source cannot be read (error()).
  bool next();
  /// The line, which may be changed in place. A zero byte stands behind it, until the next call.
  std::string_view text() const noexcept { return {text_, size_}; }
  char* data() noexcept { return text_; }
  std::uint64_t number() const noexcept { return number_; }
  /// True where the line was longer than is read; text() is empty then.
  bool too_long() const noexcept { return too_long_; }
  const status& error() const noexcept { return error_; }

private:
  bool fill();

  source& from_;
  std::string buffer_;
  std::size_t begin_ = 0, scanned_ = 0; ///< the line's beginning; up to where there is no line end
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t number_ = 0;
  bool too_long_ = false, ended_ = false;
  status error_;
};

} // namespace attune::storage::formats
