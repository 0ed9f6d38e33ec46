#pragma once

#include "storage/formats/document.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/json.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attune::storage::formats {

/// A format of documents that are one object with one long list of records in it: what is the same in all of them. The
/// elements are given one by one, a damaged one is told and the rest taken, and an end that is missing is said.
class element_format : public reader {
public:
  std::vector<std::string> warnings() const override { return warnings_; }
  status error() const override { return walk_->error(); }
  step next(entry& out, damage& what) final;

protected:
  /// `list` is the name of the long member.
  element_format(source& from, std::string_view list) : from_(from), list_(list) { walk_anew(); }

  /// Before the first piece: may read ahead and rewind(). False: there is nothing to be read.
  virtual bool begin() { return true; }
  /// A member of the root other than the list has been met.
  virtual void member() {}
  /// Before each element. Null, or why none can be read: then nothing more is.
  virtual const char* ready() { return nullptr; }
  /// What an element says. Null, or what is wrong with it.
  virtual const char* take(const json_ref& root, entry& out) = 0;

  /// From the document's beginning again; false where it cannot be read twice.
  bool rewind();
  document_walker& walk() noexcept { return *walk_; }
  const document_walker& walk() const noexcept { return *walk_; }
  /// The piece that walk() has come to, parsed; a null reference where it is damaged.
  json_ref parse_piece();
  void warn(std::string text) { warnings_.push_back(std::move(text)); }

private:
  void walk_anew();

  source& from_;
  std::string_view list_;
  std::unique_ptr<document_walker> walk_;
  json_document parsed_;
  std::vector<std::string> warnings_;
  bool begun_ = false, over_ = false;
};

} // namespace attune::storage::formats
