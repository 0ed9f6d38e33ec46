#pragma once

#include "storage/formats/source.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace attune::storage::formats {

/// Walks over a document that is one JSON object with one long list in it (`{"…": …, "LIST": [{…}, {…}, …]}` or
/// `{"LIST": {"key": {…}, …}}`), piece by piece, so that its size does not matter: each member of the root is given
/// whole, but the list is given element by element.
///
/// What is cut off loses its incomplete last piece (unterminated()). Inside the list, an element in which brackets or
/// quotes do not match is a damaged piece, and reading goes on at the next line that begins as an element does.
class document_walker {
public:
  /// A longer piece is damaged.
  static constexpr std::size_t longest = std::size_t{64} << 20;

  enum class step : std::uint8_t {
    member,  ///< key(), text()
    element, ///< of the list; key() where the list is an object
    damaged, ///< why()
    end,     ///< nothing is left: the end of the document, of the file, or of what can be read (error())
  };

  /// `lists` are the names that the long member may have.
  document_walker(source& from, std::initializer_list<std::string_view> lists) : from_(from), lists_(lists) {}

  step next();
  const std::string& key() const noexcept { return key_; }
  /// The piece, which may be parsed in place (a zero stands behind it), until the next call.
  char* data() noexcept { return text_.data(); }
  std::size_t size() const noexcept { return text_.size(); }
  std::uint64_t line() const noexcept { return began_; } ///< where the piece begins, from 1
  const std::string& why() const noexcept { return why_; }
  bool unterminated() const noexcept { return unterminated_; }
  /// Where an incomplete piece was left out at the end.
  bool cut_piece() const noexcept { return cut_piece_; }
  /// Which list has been met; empty: none yet.
  const std::string& list() const noexcept { return list_; }
  const status& error() const noexcept { return error_; }

private:
  enum class place : std::uint8_t { before, root, list, over };
  enum class captured : std::uint8_t { whole, cut, bad };

  int peek();
  void advance();
  int blanks();
  captured string(std::string& into);
  captured capture();
  bool resume();
  step stop(bool cut, bool piece);
  step fail(std::string why);

  source& from_;
  std::vector<std::string_view> lists_;
  std::string list_;
  place where_ = place::before;
  bool keyed_ = false; ///< what comes next is `"key": value`
  std::string_view block_;
  std::size_t at_ = 0;
  bool ended_ = false;
  std::uint64_t line_ = 1, began_ = 1;
  std::string key_, text_, why_;
  bool unterminated_ = false, cut_piece_ = false;
  status error_;
};

} // namespace attune::storage::formats
