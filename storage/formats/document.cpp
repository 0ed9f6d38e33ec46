#include "storage/formats/document.hpp"

#include <algorithm>

namespace attune::storage::formats {
namespace {

constexpr int none = -1;

bool is_blank(int c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

} // namespace

int document_walker::peek() {
  while (at_ == block_.size()) {
    if (ended_) return none;
    const auto more = from_.next();
    if (!more) error_ = more.err();
    block_ = more ? *more : std::string_view{};
    at_ = 0;
    if (block_.empty()) ended_ = true;
  }
  return static_cast<unsigned char>(block_[at_]);
}

void document_walker::advance() {
  if (block_[at_++] == '\n') ++line_;
}

int document_walker::blanks() {
  int c = peek();
  for (; is_blank(c); c = peek()) advance();
  return c;
}

/// A string with its quotes. No JSON string holds a line's end: there is a quote too many or too few.
document_walker::captured document_walker::string(std::string& into) {
  into += '"';
  advance();
  for (;;) {
    const int c = peek();
    if (c == none) return captured::cut;
    if (c == '\n') return captured::bad;
    // As far as nothing special comes, at once.
    const auto rest = block_.substr(at_);
    const auto plain = std::min(rest.find_first_of("\"\\\n"), rest.size());
    into += rest.substr(0, plain);
    at_ += plain;
    if (plain == rest.size()) {
      if (into.size() > longest) return captured::bad;
      continue;
    }
    const char special = block_[at_];
    if (special == '\n') continue;
    into += special;
    advance();
    if (special == '"') return captured::whole;
    const int escaped = peek();
    if (escaped == none) return captured::cut;
    if (escaped == '\n') return captured::bad;
    into += static_cast<char>(escaped);
    advance();
  }
}

/// One value into text_.
document_walker::captured document_walker::capture() {
  std::string open;
  text_.clear();
  for (;;) {
    const int c = peek();
    if (text_.size() > longest) return captured::bad;
    if (c == none) return captured::cut;
    if (c == '"') {
      if (const auto got = string(text_); got != captured::whole) return got;
      if (open.empty()) return captured::whole;
      continue;
    }
    if (open.empty() && (c == ',' || c == '}' || c == ']' || is_blank(c)))
      return text_.empty() ? captured::bad : captured::whole;
    if (c == '}' || c == ']') {
      if (open.back() != (c == '}' ? '{' : '[')) return captured::bad;
      open.pop_back();
    } else if (c == '{' || c == '[') {
      if (open.size() > 1000) return captured::bad;
      open += static_cast<char>(c);
    }
    text_ += static_cast<char>(c);
    advance();
    if (open.empty() && (c == '}' || c == ']')) return captured::whole;
  }
}

document_walker::step document_walker::stop(bool cut, bool piece) {
  where_ = place::over;
  unterminated_ = cut;
  cut_piece_ = piece;
  return step::end;
}

document_walker::step document_walker::fail(std::string why) {
  why_ = std::move(why);
  return step::damaged;
}

/// To the next line that begins as an element of the list does; false where there is none.
bool document_walker::resume() {
  for (;;) {
    int c = peek();
    for (; c != none && c != '\n'; c = peek()) advance();
    c = blanks();
    if (c == none) return false;
    if (c == (keyed_ ? '"' : '{')) return true;
  }
}

document_walker::step document_walker::next() {
  for (;;) {
    if (where_ == place::over) return step::end;
    int c = blanks();
    if (where_ == place::before) {
      if (c == 0xef) { // a byte order mark
        for (int i = 0; i < 3 && peek() != none; ++i) advance();
        c = blanks();
      }
      began_ = line_;
      if (c != '{') {
        where_ = place::over;
        return fail("it is no JSON object");
      }
      advance();
      where_ = place::root;
      keyed_ = true;
      continue;
    }
    if (c == ',') {
      advance();
      continue;
    }
    if (c == none) return stop(true, false);
    const bool list = where_ == place::list;
    if (c == '}' || c == ']') {
      advance();
      if (!list) return stop(false, false);
      where_ = place::root;
      keyed_ = true;
      continue;
    }
    began_ = line_;
    key_.clear();
    captured got = captured::whole;
    std::string quoted;
    if (keyed_) {
      got = c == '"' ? string(quoted) : captured::bad;
      if (got == captured::whole) {
        key_ = quoted.substr(1, quoted.size() - 2);
        c = blanks();
        if (c == ':') {
          advance();
          c = blanks();
        } else if (c != none) {
          got = captured::bad;
        }
        if (c == none) got = captured::cut;
      }
    }
    if (got == captured::whole && !list && (c == '{' || c == '[') &&
        std::find(lists_.begin(), lists_.end(), key_) != lists_.end()) {
      advance();
      list_ = key_;
      where_ = place::list;
      keyed_ = c == '{';
      continue;
    }
    if (got == captured::whole) got = capture();
    if (got == captured::whole) return list ? step::element : step::member;
    if (got == captured::cut) return stop(true, true);
    if (!list) {
      where_ = place::over;
      return fail("brackets or quotes do not match; what comes after it is not read");
    }
    if (!resume()) where_ = place::over;
    return fail("brackets or quotes do not match");
  }
}

} // namespace attune::storage::formats
