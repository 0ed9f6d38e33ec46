#include "storage/formats/source.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>
#include <vector>
#include <zlib.h>

namespace attune::storage::formats {
namespace {

constexpr std::size_t block = std::size_t{1} << 17;

class file_source final : public source {
public:
  file_source(std::string name, gzFile file) : source(std::move(name)), file_(file, gzclose), bytes_(block) {}

  result<std::string_view> next() override {
    // gzread gives plain files as they are.
    const int n = gzread(file_.get(), bytes_.data(), static_cast<unsigned>(bytes_.size()));
    if (n > 0) return std::string_view(bytes_.data(), static_cast<std::size_t>(n));
    int code = Z_OK;
    const char* why = gzerror(file_.get(), &code);
    if (n == 0 && (code == Z_OK || code == Z_STREAM_END)) return std::string_view{};
    if (code == Z_ERRNO) return error{errc::io, std::string("cannot be read: ") + std::strerror(errno), name()};
    if (code == Z_BUF_ERROR) return error{errc::io, "ends in the middle of what is compressed", name()};
    return error{errc::io, std::string("is damaged where it is compressed (") + why + ")", name()};
  }

  status rewind() override {
    if (gzrewind(file_.get()) == 0) return {};
    return error{errc::io, "cannot be read twice", name()};
  }

private:
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::vector<char> bytes_;
};

class text_source final : public source {
public:
  text_source(std::string_view text, std::string name) : source(std::move(name)), text_(text) {}
  result<std::string_view> next() override {
    const auto out = text_.substr(at_, block);
    at_ += out.size();
    return out;
  }
  status rewind() override {
    at_ = 0;
    return {};
  }

private:
  std::string_view text_;
  std::size_t at_ = 0;
};

struct close_file {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

/// Standard input as a file that can be read twice; the descriptor is the caller's. -1: errno says why.
int spool_input() {
  const std::unique_ptr<std::FILE, close_file> file(std::tmpfile());
  if (!file) return -1;
  std::vector<char> bytes(block);
  for (;;) {
    const auto n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (std::fwrite(bytes.data(), 1, static_cast<std::size_t>(n), file.get()) != static_cast<std::size_t>(n)) return -1;
  }
  if (std::fflush(file.get()) != 0 || ::lseek(fileno(file.get()), 0, SEEK_SET) != 0) return -1;
  return ::dup(fileno(file.get()));
}

} // namespace

result<std::unique_ptr<source>> source::open(const std::string& path) {
  errno = 0;
  gzFile file = nullptr;
  if (path == "-") {
    const int descriptor = spool_input();
    if (descriptor >= 0 && (file = gzdopen(descriptor, "rb")) == nullptr) ::close(descriptor);
  } else {
    file = gzopen(path.c_str(), "rb");
  }
  if (file == nullptr)
    return error{errc::io, std::string("cannot be read: ") + std::strerror(errno != 0 ? errno : ENOMEM), path};
  gzbuffer(file, static_cast<unsigned>(block));
  return std::unique_ptr<source>(new file_source(path == "-" ? "standard input" : path, file));
}

std::unique_ptr<source> source::of(std::string_view text, std::string name) {
  return std::make_unique<text_source>(text, std::move(name));
}

bool line_reader::fill() {
  if (ended_) return false;
  // The line's beginning goes to the front; what was before it has been read.
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const auto more = from_.next();
  if (!more) {
    error_ = more.err();
    ended_ = true;
    return false;
  }
  if (more->empty()) {
    ended_ = true;
    return false;
  }
  buffer_ += *more;
  return true;
}

bool line_reader::next() {
  too_long_ = false;
  for (;;) {
    const char* base = buffer_.data();
    const auto* end = static_cast<const char*>(std::memchr(base + scanned_, '\n', buffer_.size() - scanned_));
    if (end == nullptr) {
      scanned_ = buffer_.size();
      if (scanned_ - begin_ > longest) {
        too_long_ = true;
        begin_ = scanned_;
      }
      if (fill()) continue;
      if (!error_ || (begin_ == buffer_.size() && !too_long_)) return false;
      end = buffer_.data() + buffer_.size(); // the last line, without an end
      base = buffer_.data();
    }
    const auto stop = static_cast<std::size_t>(end - base);
    text_ = buffer_.data() + begin_;
    size_ = stop - begin_;
    begin_ = scanned_ = std::min(stop + 1, buffer_.size());
    ++number_;
    if (number_ == 1 && std::string_view(text_, size_).starts_with("\xef\xbb\xbf")) {
      text_ += 3;
      size_ -= 3;
    }
    if (size_ > 0 && text_[size_ - 1] == '\r') --size_;
    if (too_long_) size_ = 0;
    text_[size_] = '\0'; // over the line's end, or the string's own zero
    return true;
  }
}

} // namespace attune::storage::formats
