#include "storage/spec_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <istream>
#include <streambuf>

namespace attune::storage {

namespace {

int line_of(const YAML::Mark& m) { return m.line + 1; }
int column_of(const YAML::Mark& m) { return m.column + 1; }

/// Hands yaml-cpp's events to the builder. yaml-cpp's own node tree is not used: it drops doubled keys' places, expands
/// nothing boundedly and forgets which scalars were quoted.
class yaml_events final : public YAML::EventHandler {
public:
  spec_tree_builder builder;
  int documents = 0;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents > 1)
      throw spec_fault{"holds several documents (a second --- line); a spec file is one", line_of(mark), 0};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder.null(line_of(mark), column_of(mark), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder.alias(anchor, line_of(mark), column_of(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    // "?" is yaml-cpp's mark of a plain scalar, "!" of a quoted one.
    const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!quoted && !tag.empty() && tag != "?") refuse_tag(mark, tag);
    builder.scalar(text, quoted, line_of(mark), column_of(mark), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (!tag.empty() && tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:seq") refuse_tag(mark, tag);
    builder.begin(spec_node::kind::sequence, line_of(mark), column_of(mark), anchor);
  }
  void OnSequenceEnd() override { builder.end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (!tag.empty() && tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:map") refuse_tag(mark, tag);
    builder.begin(spec_node::kind::mapping, line_of(mark), column_of(mark), anchor);
  }
  void OnMapEnd() override { builder.end(); }

private:
  [[noreturn]] static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    throw spec_fault{"the tag '" + tag.substr(0, 80) + "' means nothing here", line_of(mark), column_of(mark)};
  }
};

/// A stream over text that is not copied.
class text_buffer final : public std::streambuf {
public:
  explicit text_buffer(std::string_view text) {
    // setg wants mutable pointers; nothing is written through them.
    auto* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

} // namespace

result<spec_node_ptr> read_yaml_tree(std::string_view text, const std::string& file) {
  const auto refuse = [&](std::string why, int line, int column) {
    std::string where = file;
    if (line > 0) where += ":" + std::to_string(line);
    if (line > 0 && column > 0) where += ":" + std::to_string(column);
    return error{errc::invalid_spec, std::move(why), std::move(where)};
  };
  yaml_events events;
  try {
    text_buffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const spec_fault& f) {
    return refuse(f.message, f.line, f.column);
  } catch (const YAML::Exception& e) {
    std::string why = "is not YAML: " + e.msg;
    if (e.msg == YAML::ErrorMsg::END_OF_MAP_FLOW || e.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW ||
        e.msg == YAML::ErrorMsg::END_OF_MAP)
      why += " (a text that begins with { or [ must be quoted)";
    return refuse(std::move(why), e.mark.is_null() ? 0 : line_of(e.mark), e.mark.is_null() ? 0 : column_of(e.mark));
  } catch (const std::exception& e) {
    return refuse(std::string("is not YAML: ") + e.what(), 0, 0);
  }
  const auto root = events.builder.root();
  if (!root || root->what == spec_node::kind::null) return refuse("holds nothing but comments and white space", 0, 0);
  return root;
}

} // namespace attune::storage
