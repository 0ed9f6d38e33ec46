// The one tree that YAML and JSON spec files are read into: small, with the place of every node, nothing interpreted.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attune::storage {

struct spec_node;
/// Shared, because an alias stands for the very node of its anchor. Immutable once the tree is read.
using spec_node_ptr = std::shared_ptr<const spec_node>;

/// One node of a spec file.
struct spec_node {
  enum class kind : std::uint8_t { null, scalar, sequence, mapping };
  /// One `key: value` of a mapping with the place of its key.
  struct entry {
    std::string key;
    int line = 0, column = 0;
    spec_node_ptr value;
  };

  kind what = kind::null;
  bool quoted = false;              ///< a scalar that is a string whatever it looks like
  std::string text;                 ///< of a scalar
  int line = 0;                     ///< from 1
  int column = 0;                   ///< from 1; 0: not known
  std::vector<spec_node_ptr> items; ///< of a sequence
  std::vector<entry> entries;       ///< of a mapping, in the order of the file; no key twice
  std::size_t weight = 1;           ///< nodes in it, each alias counted as all that it stands for

  /// The value under `key`, or null.
  const spec_node* find(std::string_view key) const noexcept;
};

/// Thrown by what reads the tree and caught by read_yaml_tree, read_json_tree and read_spec: never leaves the room.
struct spec_fault {
  std::string message;
  int line = 0, column = 0;
};

/// What bounds a spec file.
struct spec_limits {
  static constexpr std::size_t bytes = std::size_t{4} << 20;
  static constexpr std::size_t nodes = 500'000; ///< aliases expanded
  static constexpr std::size_t depth = 100;
};

/// Builds a tree from the events of a parser, holding the limits and refusing doubled keys (naming both lines) and
/// aliases that stand inside their own anchor. Every function throws spec_fault. One owner.
class spec_tree_builder {
public:
  void null(int line, int column, std::size_t anchor = 0);
  void scalar(std::string text, bool quoted, int line, int column, std::size_t anchor = 0);
  void alias(std::size_t anchor, int line, int column);
  void begin(spec_node::kind what, int line, int column, std::size_t anchor = 0);
  void end();
  /// The key of the next value, for parsers that tell keys apart (others give keys as plain nodes).
  void key(std::string text, int line, int column);
  /// The root; null where there was none.
  spec_node_ptr root() const { return root_; }

private:
  struct open_node {
    std::shared_ptr<spec_node> node;
    std::size_t anchor = 0;
    bool key_given = false;
    std::string key;
    int key_line = 0, key_column = 0;
    std::unordered_map<std::string, int> lines; ///< of the keys so far
  };
  void count(std::size_t weight, int line, int column);
  void add(spec_node_ptr node, std::size_t anchor);

  std::vector<open_node> open_;
  std::unordered_map<std::size_t, spec_node_ptr> anchors_;
  std::size_t nodes_ = 0;
  spec_node_ptr root_;
};

/// The whole contents of a spec file. Errors (invalid_spec): it cannot be read, is a folder, or larger than
/// spec_limits::bytes.
result<std::string> read_text_file(const std::string& path);

/// What no spec file is, wherever its bytes come from. Errors (invalid_spec): empty, larger than spec_limits::bytes,
/// not UTF-8 text.
status check_text(std::string_view text, const std::string& file);

/// Reads one YAML document (yaml-cpp's parser, its events only). Errors (invalid_spec, with `file:line:column`): not
/// YAML, empty, several documents, doubled keys, keys that are no plain text, foreign tags, the limits.
result<spec_node_ptr> read_yaml_tree(std::string_view text, const std::string& file);

/// The same for JSON (RFC 8259); lines without columns.
result<spec_node_ptr> read_json_tree(std::string_view text, const std::string& file);

} // namespace attune::storage
