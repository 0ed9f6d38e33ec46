#include "storage/formats/elements.hpp"

#include <utility>

namespace attune::storage::formats {

void element_format::walk_anew() {
  walk_ = std::make_unique<document_walker>(from_, std::initializer_list<std::string_view>{list_});
}

bool element_format::rewind() {
  if (!from_.rewind()) return false;
  walk_anew();
  return true;
}

json_ref element_format::parse_piece() {
  return parsed_.parse(walk_->data(), walk_->size()) ? parsed_.root() : json_ref();
}

reader::step element_format::next(entry& out, damage& what) {
  if (!std::exchange(begun_, true) && !begin()) over_ = true;
  if (over_) return step::end;
  const auto damaged = [&](std::string why) {
    what = {walk_->line(), std::move(why)};
    return step::damaged;
  };
  for (;;) {
    switch (walk_->next()) {
    case document_walker::step::member:
      member();
      continue;
    case document_walker::step::damaged:
      return damaged(walk_->why());
    case document_walker::step::end:
      over_ = true;
      if (!walk_->unterminated() || !walk_->error()) return step::end;
      warn("the file is unterminated (its writer was cut off); what is complete was read");
      if (walk_->cut_piece()) return damaged("the last entry is incomplete");
      return step::end;
    case document_walker::step::element:
      break;
    }
    if (const auto* why = ready(); why != nullptr) {
      over_ = true;
      return damaged(why);
    }
    const auto root = parse_piece();
    if (!root) return damaged(parsed_.why());
    out.clear();
    if (const auto* bad = take(root, out); bad != nullptr) return damaged(bad);
    return step::record;
  }
}

} // namespace attune::storage::formats
