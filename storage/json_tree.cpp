#include "storage/spec_tree.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace attune::storage {

namespace {

/// Reads from a text and tells how far the parser has come, since nlohmann's events carry no place.
class tracked_iterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  tracked_iterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  tracked_iterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  tracked_iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const tracked_iterator& a, const tracked_iterator& b) { return a.at_ == b.at_; }

private:
  const char* at_;
  const char** furthest_;
};

class json_events final : public nlohmann::json_sax<nlohmann::json> {
public:
  json_events(std::string_view text, const char* const* furthest) : text_(text), furthest_(furthest) {}
  spec_tree_builder builder;
  std::string syntax_error;

  /// The line of the last byte read. Only goes forward, so the whole text is counted once.
  int line() {
    const auto end = static_cast<std::size_t>(*furthest_ - text_.data());
    const std::size_t last = end == 0 ? 0 : end - 1;
    line_ += static_cast<int>(std::count(text_.data() + counted_, text_.data() + std::max(last, counted_), '\n'));
    counted_ = std::max(last, counted_);
    return line_;
  }

  bool null() override {
    builder.null(line(), 0);
    return true;
  }
  bool boolean(bool b) override {
    builder.scalar(b ? "true" : "false", false, line(), 0);
    return true;
  }
  bool number_integer(number_integer_t n) override {
    builder.scalar(std::to_string(n), false, line(), 0);
    return true;
  }
  bool number_unsigned(number_unsigned_t n) override {
    builder.scalar(std::to_string(n), false, line(), 0);
    return true;
  }
  bool number_float(number_float_t, const string_t& written) override {
    builder.scalar(written, false, line(), 0);
    return true;
  }
  bool string(string_t& s) override {
    builder.scalar(s, true, line(), 0);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    builder.begin(spec_node::kind::mapping, line(), 0);
    return true;
  }
  bool key(string_t& s) override {
    builder.key(s, line(), 0);
    return true;
  }
  bool end_object() override {
    builder.end();
    return true;
  }
  bool start_array(std::size_t) override {
    builder.begin(spec_node::kind::sequence, line(), 0);
    return true;
  }
  bool end_array() override {
    builder.end();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while …": what follows the place.
    std::string_view why = e.what();
    if (const auto at = why.find("column "); at != std::string_view::npos)
      if (const auto colon = why.find(": ", at); colon != std::string_view::npos) why.remove_prefix(colon + 2);
    syntax_error = why.substr(0, 200);
    return false;
  }

private:
  std::string_view text_;
  const char* const* furthest_;
  std::size_t counted_ = 0;
  int line_ = 1;
};

} // namespace

result<spec_node_ptr> read_json_tree(std::string_view text, const std::string& file) {
  const auto refuse = [&](std::string why, int line) {
    return error{errc::invalid_spec, std::move(why), line > 0 ? file + ":" + std::to_string(line) : file};
  };
  const char* furthest = text.data();
  json_events events(text, &furthest);
  try {
    const bool good = nlohmann::json::sax_parse(tracked_iterator(text.data(), &furthest),
                                                tracked_iterator(text.data() + text.size(), &furthest), &events);
    if (!good) return refuse("is not JSON: " + events.syntax_error, events.line());
  } catch (const spec_fault& f) {
    return refuse(f.message, f.line);
  } catch (const std::exception& e) {
    return refuse(std::string("is not JSON: ") + e.what(), 0);
  }
  if (!events.builder.root()) return refuse("holds nothing", 0);
  return events.builder.root();
}

} // namespace attune::storage
