#include "storage/spec_tree.hpp"

#include "core/file.hpp"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace attune::storage {

const spec_node* spec_node::find(std::string_view key) const noexcept {
  for (const auto& e : entries)
    if (e.key == key) return e.value.get();
  return nullptr;
}

void spec_tree_builder::count(std::size_t weight, int line, int column) {
  nodes_ += weight;
  if (nodes_ > spec_limits::nodes)
    throw spec_fault{"holds more than " + std::to_string(spec_limits::nodes) + " values once its aliases are expanded",
                     line, column};
}

void spec_tree_builder::null(int line, int column, std::size_t anchor) {
  count(1, line, column);
  auto node = std::make_shared<spec_node>();
  node->line = line;
  node->column = column;
  add(std::move(node), anchor);
}

void spec_tree_builder::scalar(std::string text, bool quoted, int line, int column, std::size_t anchor) {
  count(1, line, column);
  auto node = std::make_shared<spec_node>();
  node->what = spec_node::kind::scalar;
  node->text = std::move(text);
  node->quoted = quoted;
  node->line = line;
  node->column = column;
  add(std::move(node), anchor);
}

void spec_tree_builder::alias(std::size_t anchor, int line, int column) {
  const auto known = anchors_.find(anchor);
  if (known == anchors_.end()) throw spec_fault{"an alias stands inside its own anchor", line, column};
  count(known->second->weight, line, column);
  add(known->second, 0);
}

void spec_tree_builder::begin(spec_node::kind what, int line, int column, std::size_t anchor) {
  count(1, line, column);
  if (open_.size() >= spec_limits::depth)
    throw spec_fault{"nested more than " + std::to_string(spec_limits::depth) + " levels deep", line, column};
  if (!open_.empty() && open_.back().node->what == spec_node::kind::mapping && !open_.back().key_given)
    throw spec_fault{"a key must be a plain text, not a list or a map (quote a text that begins with { or [)", line,
                     column};
  open_node next;
  next.node = std::make_shared<spec_node>();
  next.node->what = what;
  next.node->line = line;
  next.node->column = column;
  next.anchor = anchor;
  open_.push_back(std::move(next));
}

void spec_tree_builder::end() {
  auto done = std::move(open_.back());
  open_.pop_back();
  add(std::move(done.node), done.anchor);
}

void spec_tree_builder::key(std::string text, int line, int column) {
  auto& top = open_.back();
  if (const auto [at, fresh] = top.lines.emplace(text, line); !fresh)
    throw spec_fault{"'" + text.substr(0, 80) + "' is given twice, first in line " + std::to_string(at->second), line,
                     column};
  top.key = std::move(text);
  top.key_given = true;
  top.key_line = line;
  top.key_column = column;
}

void spec_tree_builder::add(spec_node_ptr node, std::size_t anchor) {
  if (anchor != 0) anchors_[anchor] = node;
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  auto& top = open_.back();
  if (top.node->what == spec_node::kind::mapping && !top.key_given) {
    if (node->what != spec_node::kind::scalar) throw spec_fault{"a key must be a plain text", node->line, node->column};
    key(node->text, node->line, node->column);
    return;
  }
  top.node->weight += node->weight;
  if (top.node->what == spec_node::kind::sequence) {
    top.node->items.push_back(std::move(node));
    return;
  }
  top.node->entries.push_back({std::move(top.key), top.key_line, top.key_column, std::move(node)});
  top.key_given = false;
}

namespace {

/// The offset of the first byte that no UTF-8 text has (RFC 3629; control characters but tab and line ends included),
/// or npos.
std::size_t first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) return i;
      ++i;
      continue;
    }
    const std::size_t length = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return i;
    std::uint32_t code = c & (0xffu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return i;
      code = code << 6 | (next & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code <= 0xdfff))
      return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string too_large() {
  return "is larger than " + std::to_string(spec_limits::bytes >> 20) + " MB; no spec file is";
}

} // namespace

status check_text(std::string_view text, const std::string& file) {
  const auto refuse = [&](std::string why) { return error{errc::invalid_spec, std::move(why), file}; };
  if (text.empty()) return refuse("is empty");
  if (text.size() > spec_limits::bytes) return refuse(too_large());
  if (const auto at = first_bad_byte(text); at != std::string_view::npos) {
    std::array<char, 80> why{};
    std::snprintf(why.data(), why.size(), "is not a UTF-8 text file (byte 0x%02x at offset %zu)",
                  static_cast<unsigned>(static_cast<unsigned char>(text[at])), at);
    return refuse(why.data());
  }
  return {};
}

result<std::string> read_text_file(const std::string& path) {
  const auto refuse = [&](std::string why) { return error{errc::invalid_spec, std::move(why), path}; };
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(about.st_mode)) return refuse("is a folder, not a spec file");
  if (S_ISREG(about.st_mode) && static_cast<std::uint64_t>(about.st_size) > spec_limits::bytes)
    return refuse(too_large());
  auto text = file_contents(path, spec_limits::bytes + 1);
  if (!text) return refuse("cannot be read: " + text.err().message);
  if (text->size() > spec_limits::bytes) return refuse(too_large());
  return text;
}

} // namespace attune::storage
