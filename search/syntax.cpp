#include "search/syntax.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace attune::search {

namespace {

using node_kind = syntax_node::kind;

constexpr std::uint32_t tree_depth_max = 1000; ///< of a tree that a long chain of operators makes

enum class token_kind : std::uint8_t { end, name, integer, real, text, sign };

struct token {
  token_kind what = token_kind::end;
  std::string_view text; ///< as written
  std::string string;    ///< the contents of a string literal
  std::uint64_t integer = 0;
  double real = 0;
  std::uint32_t begin = 0, end = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0u | (c >> 6));
    out += static_cast<char>(0x80u | (c & 0x3fu));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0u | (c >> 12));
    out += static_cast<char>(0x80u | ((c >> 6) & 0x3fu));
    out += static_cast<char>(0x80u | (c & 0x3fu));
  } else {
    out += static_cast<char>(0xf0u | (c >> 18));
    out += static_cast<char>(0x80u | ((c >> 12) & 0x3fu));
    out += static_cast<char>(0x80u | ((c >> 6) & 0x3fu));
    out += static_cast<char>(0x80u | (c & 0x3fu));
  }
}

/// Turns the text into tokens, one at a time.
class lexer {
public:
  lexer(std::string_view text, syntax_error& wrong) : text_(text), wrong_(wrong) {}

  /// False on an error.
  bool next(token& t) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
    t = {};
    t.begin = at_;
    if (at_ >= text_.size()) {
      t.end = at_;
      return true;
    }
    const char c = text_[at_];
    bool ok = true;
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      ok = number(t);
    } else if (c == '"' || c == '\'') {
      ok = string(t, false);
    } else if (is_letter(c)) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      t.what = token_kind::name;
      t.text = text_.substr(t.begin, at_ - t.begin);
      if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
        if (t.text != "r" && t.text != "R")
          return fail("strings with the prefix `" + std::string(t.text) + "` are not part of the constraint language",
                      t.begin, at_);
        ok = string(t, true);
      }
    } else {
      ok = sign(t);
    }
    t.end = at_;
    if (ok && t.text.empty()) t.text = text_.substr(t.begin, at_ - t.begin);
    return ok;
  }

private:
  bool fail(std::string message, std::uint32_t begin, std::uint32_t end) {
    wrong_ = {std::move(message), begin, std::max(end, begin + 1)};
    return false;
  }

  bool sign(token& t) {
    static constexpr std::array<std::string_view, 33> signs{
        "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")",
        "[",  "]",  "{",  "}",  ",",  ".",  "&",  "|",  "^", "~", ":", "=", "!", ";", "@", "?"};
    const auto rest = text_.substr(at_);
    if (rest.starts_with("&&")) return fail("write `and`: `&&` is not Python's", at_, at_ + 2);
    if (rest.starts_with("||")) return fail("write `or`: `||` is not Python's", at_, at_ + 2);
    for (const auto s : signs) {
      if (!rest.starts_with(s)) continue;
      t.what = token_kind::sign;
      t.text = s;
      at_ += static_cast<std::uint32_t>(s.size());
      if (s == "!") return fail("write `not`: `!` is not Python's", t.begin, at_);
      if (s == "=") return fail("write `==` to compare", t.begin, at_);
      return true;
    }
    const auto byte = static_cast<unsigned char>(text_[at_]);
    std::uint32_t end = at_ + 1;
    while (byte >= 0x80 && end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0u) == 0x80u) ++end;
    return fail("this character has no meaning here", at_, end);
  }

  /// Digits with single underscores between them; appends them without.
  bool digits(std::string& out, auto&& is) {
    bool any = false;
    while (at_ < text_.size()) {
      if (is(text_[at_])) {
        out += text_[at_++];
        any = true;
      } else if (text_[at_] == '_' && any && at_ + 1 < text_.size() && is(text_[at_ + 1])) {
        ++at_;
      } else {
        break;
      }
    }
    return any;
  }

  bool number(token& t) {
    std::string s;
    const auto rest = text_.substr(at_);
    int base = 10;
    if (rest.size() > 1 && rest[0] == '0') {
      const char x = static_cast<char>(rest[1] | 0x20);
      base = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 10;
    }
    bool real = false;
    if (base != 10) {
      at_ += 2;
      if (at_ < text_.size() && text_[at_] == '_') ++at_;
      const auto is = [base](char c) {
        const int v = is_digit(c) ? c - '0' : is_letter(c) && c != '_' ? (c | 0x20) - 'a' + 10 : 99;
        return v < base;
      };
      if (!digits(s, is)) return fail("digits are missing", t.begin, at_);
    } else {
      digits(s, is_digit);
      if (at_ < text_.size() && text_[at_] == '.') {
        real = true;
        s += text_[at_++];
        digits(s, is_digit);
      }
      if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
        auto after = at_ + 1;
        if (after < text_.size() && (text_[after] == '+' || text_[after] == '-')) ++after;
        if (after < text_.size() && is_digit(text_[after])) {
          real = true;
          s.append(text_.substr(at_, after - at_));
          at_ = after;
          digits(s, is_digit);
        }
      }
    }
    if (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) {
      // `1if x else 2` is Python, and read by nobody.
      auto end = at_;
      while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
      return fail("a number ends where a word begins", t.begin, end);
    }
    if (real) {
      t.what = token_kind::real;
      const auto d = parse_double(s);
      if (!d) return fail("not a number", t.begin, at_);
      t.real = *d;
      return true;
    }
    t.what = token_kind::integer;
    if (base == 10 && s.size() > 1 && s[0] == '0' && s.find_first_not_of('0') != std::string::npos)
      return fail("an integer does not begin with 0", t.begin, at_);
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), t.integer, base);
    if (error != std::errc{} || t.integer > (std::uint64_t{1} << 63))
      return fail("the integer does not fit into 64 bits", t.begin, at_);
    return true;
  }

  bool escape(token& t) {
    const char c = text_[at_++];
    const auto hex = [&](int count) {
      std::uint32_t v = 0;
      if (text_.size() - at_ < static_cast<std::size_t>(count)) return fail("a broken escape", at_ - 2, at_);
      const auto* from = text_.data() + at_;
      const auto [end, error] = std::from_chars(from, from + count, v, 16);
      if (error != std::errc{} || end != from + count || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return fail("a broken escape", at_ - 2, at_);
      at_ += static_cast<std::uint32_t>(count);
      append_utf8(t.string, v);
      return true;
    };
    switch (c) {
    case '\n':
      return true;
    case '\\':
    case '\'':
    case '"':
      t.string += c;
      return true;
    case 'n':
      t.string += '\n';
      return true;
    case 't':
      t.string += '\t';
      return true;
    case 'r':
      t.string += '\r';
      return true;
    case 'a':
      t.string += '\a';
      return true;
    case 'b':
      t.string += '\b';
      return true;
    case 'f':
      t.string += '\f';
      return true;
    case 'v':
      t.string += '\v';
      return true;
    case 'x':
      return hex(2);
    case 'u':
      return hex(4);
    case 'U':
      return hex(8);
    default:
      break;
    }
    if (c < '0' || c > '7') { // an unknown escape stays as it is
      t.string += '\\';
      t.string += c;
      return true;
    }
    std::uint32_t v = static_cast<std::uint32_t>(c - '0');
    for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i)
      v = v * 8 + static_cast<std::uint32_t>(text_[at_++] - '0');
    append_utf8(t.string, v);
    return true;
  }

  bool string(token& t, bool raw) {
    t.what = token_kind::text;
    t.text = {};
    const char quote = text_[at_++];
    if (text_.substr(at_).starts_with(std::string{quote, quote}))
      return fail("strings in three quotes are not part of the constraint language", t.begin, at_ + 2);
    while (true) {
      if (at_ >= text_.size()) return fail("the string has no end", t.begin, at_);
      const char c = text_[at_++];
      if (c == quote) return true;
      if (c == '\n') return fail("the string has no end on its line", t.begin, at_ - 1);
      if (c != '\\') {
        t.string += c;
        continue;
      }
      if (at_ >= text_.size()) return fail("the string has no end", t.begin, at_);
      if (raw) {
        t.string += c;
        t.string += text_[at_++];
      } else if (!escape(t)) {
        return false;
      }
    }
  }

  std::string_view text_;
  syntax_error& wrong_;
  std::uint32_t at_ = 0;
};

/// Recursive descent over the tokens, with precedence climbing for the arithmetic.
class parser {
public:
  parser(std::string_view text, pool& literals, syntax_tree& out, syntax_error& wrong)
      : lexer_(text, wrong), pool_(literals), tree_(out), wrong_(wrong) {}

  bool run() {
    if (!advance()) return false;
    if (at_.what == token_kind::end) return fail("the expression is empty", 0, 1);
    std::uint32_t root = 0;
    if (!expression(root)) return false;
    if (at_.what != token_kind::end) return unexpected();
    tree_.root = root;
    return true;
  }

private:
  using number = std::uint32_t;

  bool fail(std::string message, number begin, number end) {
    wrong_ = {std::move(message), begin, std::max(end, begin + 1)};
    return false;
  }
  bool unexpected() {
    if (at_.what == token_kind::end) return fail("the expression ends too early", at_.begin, at_.end);
    for (const std::string_view word : {"lambda", "await", "yield", "async"})
      if (is(word))
        return fail("`" + std::string(word) + "` is not part of the constraint language", at_.begin, at_.end);
    return fail("`" + std::string(at_.text.substr(0, 40)) + "` is out of place", at_.begin, at_.end);
  }
  bool advance() {
    last_end_ = at_.end;
    return lexer_.next(at_);
  }
  bool is(std::string_view s) const {
    return (at_.what == token_kind::sign || at_.what == token_kind::name) && at_.text == s;
  }
  /// Takes the token if it is `s`; `ok` becomes false on an error behind it.
  bool take(std::string_view s, bool& ok) {
    if (!is(s)) return false;
    ok = advance();
    return true;
  }
  bool expect(std::string_view s) {
    if (!is(s)) {
      if (at_.what == token_kind::end) return fail("`" + std::string(s) + "` is missing", at_.begin, at_.end);
      return unexpected();
    }
    return advance();
  }

  bool add(syntax_node n, number begin, number& out) {
    n.begin = begin;
    n.end = last_end_;
    for (const auto k : n.kids) n.depth = std::max(n.depth, tree_.nodes[k].depth + 1);
    if (n.depth > tree_depth_max) return fail("the expression is nested too deeply", begin, n.end);
    out = static_cast<number>(tree_.nodes.size());
    tree_.nodes.push_back(std::move(n));
    return true;
  }
  bool add(operation op, std::vector<number> kids, number begin, number& out) {
    syntax_node n;
    n.what = node_kind::apply;
    n.op = op;
    n.kids = std::move(kids);
    return add(std::move(n), begin, out);
  }
  bool add(cell literal, number begin, number& out) {
    if (literal.failed()) return fail("the string is too long", begin, last_end_);
    syntax_node n;
    n.literal = literal;
    return add(std::move(n), begin, out);
  }

  /// Counts the recursion, so that no input takes the stack.
  struct level {
    explicit level(number& d) : depth(d) { ++depth; }
    ~level() { --depth; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    number& depth;
  };
  bool too_deep() {
    if (depth_ <= expression_depth_max) return false;
    return !fail("the expression is nested too deeply", at_.begin, at_.end);
  }

  bool expression(number& out) {
    const level here(depth_);
    if (too_deep()) return false;
    const auto begin = at_.begin;
    number value = 0;
    if (!disjunction(value)) return false;
    if (!is("if")) {
      out = value;
      return true;
    }
    number condition = 0, other = 0;
    if (!advance() || !disjunction(condition) || !expect("else") || !expression(other)) return false;
    return add(operation::choose, {condition, value, other}, begin, out);
  }

  bool chain(std::string_view word, operation op, bool (parser::*part)(number&), number& out) {
    const auto begin = at_.begin;
    std::vector<number> kids(1);
    if (!(this->*part)(kids[0])) return false;
    while (is(word)) {
      number k = 0;
      if (!advance() || !(this->*part)(k)) return false;
      kids.push_back(k);
    }
    if (kids.size() == 1) {
      out = kids[0];
      return true;
    }
    return add(op, std::move(kids), begin, out);
  }
  bool disjunction(number& out) { return chain("or", operation::logical_or, &parser::conjunction, out); }
  bool conjunction(number& out) { return chain("and", operation::logical_and, &parser::inversion, out); }

  bool inversion(number& out) {
    if (!is("not")) return comparison(out);
    const level here(depth_);
    if (too_deep()) return false;
    const auto begin = at_.begin;
    number k = 0;
    return advance() && inversion(k) && add(operation::logical_not, {k}, begin, out);
  }

  /// 1: a comparison was read into `op`; 0: there is none; -1: an error.
  int comparison_sign(operation& op) {
    struct sign {
      std::string_view text;
      operation op;
    };
    static constexpr std::array signs{sign{"<", operation::less},     sign{"<=", operation::less_equal},
                                      sign{">", operation::greater},  sign{">=", operation::greater_equal},
                                      sign{"==", operation::equal},   sign{"!=", operation::not_equal},
                                      sign{"in", operation::contains}};
    for (const auto& s : signs)
      if (is(s.text)) {
        op = s.op;
        return advance() ? 1 : -1;
      }
    if (is("not")) {
      op = operation::excludes;
      return advance() && expect("in") ? 1 : -1;
    }
    if (is("is")) {
      fail("write `==`: `is` compares objects, which values are not", at_.begin, at_.end);
      return -1;
    }
    return 0;
  }

  bool comparison(number& out) {
    const auto begin = at_.begin;
    syntax_node n;
    n.what = node_kind::comparison;
    n.kids.resize(1);
    if (!binary(n.kids[0], 0)) return false;
    operation op{};
    int found = 0;
    while ((found = comparison_sign(op)) == 1) {
      number k = 0;
      if (!binary(k, 0)) return false;
      n.ops.push_back(op);
      n.kids.push_back(k);
    }
    if (found < 0) return false;
    if (n.ops.empty()) {
      out = n.kids[0];
      return true;
    }
    if (n.ops.size() == 1) return add(n.ops[0], std::move(n.kids), begin, out);
    return add(std::move(n), begin, out);
  }

  struct binary_sign {
    std::string_view text;
    operation op;
    int level;
  };
  const binary_sign* binary_here() const {
    static constexpr std::array signs{
        binary_sign{"|", operation::bit_or, 0},       binary_sign{"^", operation::bit_xor, 1},
        binary_sign{"&", operation::bit_and, 2},      binary_sign{"<<", operation::shift_left, 3},
        binary_sign{">>", operation::shift_right, 3}, binary_sign{"+", operation::add, 4},
        binary_sign{"-", operation::subtract, 4},     binary_sign{"*", operation::multiply, 5},
        binary_sign{"/", operation::divide, 5},       binary_sign{"//", operation::floor_divide, 5},
        binary_sign{"%", operation::modulo, 5}};
    if (at_.what != token_kind::sign) return nullptr;
    const auto* found = std::ranges::find(signs, at_.text, &binary_sign::text);
    return found == signs.end() ? nullptr : found;
  }

  bool binary(number& out, int weakest) {
    const level here(depth_);
    if (too_deep()) return false;
    const auto begin = at_.begin;
    number left = 0;
    if (!unary(left)) return false;
    for (const auto* s = binary_here(); s && s->level >= weakest; s = binary_here()) {
      number right = 0;
      if (!advance() || !binary(right, s->level + 1) || !add(s->op, {left, right}, begin, left)) return false;
    }
    out = left;
    return true;
  }

  bool unary(number& out) {
    const bool minus = is("-");
    if (!minus && !is("+") && !is("~")) return power(out);
    const level here(depth_);
    if (too_deep()) return false;
    const auto begin = at_.begin;
    const auto op = minus ? operation::negate : is("+") ? operation::plus : operation::invert;
    if (!advance()) return false;
    // The one integer whose digits alone do not fit.
    allow_lowest_ = minus && at_.what == token_kind::integer && at_.integer == std::uint64_t{1} << 63;
    const bool lowest = allow_lowest_;
    number k = 0;
    if (!unary(k)) return false;
    if (lowest && tree_.nodes[k].what == node_kind::constant) {
      tree_.nodes[k].begin = begin; // already the negative
      out = k;
      return true;
    }
    return add(op, {k}, begin, out);
  }

  bool power(number& out) {
    const auto begin = at_.begin;
    number base = 0;
    if (!primary(base)) return false;
    if (!is("**")) {
      out = base;
      return true;
    }
    if (lowest_at_ == base + 1) return fail("the integer does not fit into 64 bits", begin, last_end_);
    const level here(depth_);
    if (too_deep()) return false;
    number exponent = 0;
    return advance() && unary(exponent) && add(operation::power, {base, exponent}, begin, out);
  }

  bool primary(number& out) {
    const auto begin = at_.begin;
    number n = 0;
    if (!atom(n)) return false;
    while (true) {
      if (is("[")) {
        number i = 0;
        if (!advance() || !expression(i)) return false;
        if (is(":")) return fail("slices are not part of the constraint language", at_.begin, at_.end);
        if (!expect("]") || !add(operation::subscript, {n, i}, begin, n)) return false;
      } else if (is(".")) {
        if (!attribute(n, begin)) return false;
      } else if (is("(")) {
        return fail("this cannot be called", begin, at_.end);
      } else {
        out = n;
        return true;
      }
    }
  }

  bool attribute(number& n, number begin) {
    if (!advance()) return false;
    if (at_.what != token_kind::name) return unexpected();
    const std::string word(at_.text);
    const auto word_begin = at_.begin, word_end = at_.end;
    if (!advance()) return false;
    if (is("(")) {
      const auto op = method_named(word);
      if (!op)
        return fail("there is no method `" + word + "`; there are index, count, startswith and endswith", word_begin,
                    word_end);
      std::vector<number> kids{n};
      return arguments(word, *op, kids) && add(*op, std::move(kids), begin, n);
    }
    auto& base = tree_.nodes[n];
    if (base.what != node_kind::name || (base.text != "workload" && base.text != "target"))
      return fail("only `workload` and `target` have parts", begin, word_end);
    base.text += "." + word;
    base.end = last_end_;
    return true;
  }

  /// `(a, b)` behind a function's name, onto `kids`.
  bool arguments(const std::string& name, operation op, std::vector<number>& kids) {
    const auto begin = at_.begin;
    if (!advance()) return false;
    while (!is(")")) {
      number k = 0;
      const auto from = at_.begin;
      if (!expression(k)) return false;
      if (is("for")) { // a generator: read as the list that it makes
        if (!comprehension(k, from)) return false;
      }
      kids.push_back(k);
      if (!is(",")) break;
      if (!advance()) return false;
    }
    if (!expect(")")) return false;
    const auto [least, most] = arity(op);
    if (kids.size() < least || kids.size() > most)
      return fail("`" + name + "` does not take " + std::to_string(kids.size()) +
                      (kids.size() == 1 ? " argument" : " arguments"),
                  begin, last_end_);
    return true;
  }

  bool atom(number& out) {
    const auto begin = at_.begin;
    switch (at_.what) {
    case token_kind::integer: {
      const auto i = at_.integer;
      if (i > (std::uint64_t{1} << 63) - 1 && !std::exchange(allow_lowest_, false))
        return fail("the integer does not fit into 64 bits", at_.begin, at_.end);
      if (!advance() || !add(cell::of(static_cast<std::int64_t>(i)), begin, out)) return false;
      if (i == std::uint64_t{1} << 63) lowest_at_ = out + 1;
      return true;
    }
    case token_kind::real: {
      const auto d = at_.real;
      return advance() && add(cell::of(d), begin, out);
    }
    case token_kind::text: {
      std::string all;
      while (at_.what == token_kind::text) {
        all += at_.string;
        if (!advance()) return false;
      }
      return add(pool_.text(all), begin, out);
    }
    case token_kind::name:
      return name(out);
    case token_kind::sign:
      if (is("(")) return parenthesis(out);
      if (is("[")) return list(out);
      if (is("{")) return set(out);
      break;
    case token_kind::end:
      break;
    }
    return unexpected();
  }

  bool name(number& out) {
    const auto begin = at_.begin;
    const std::string word(at_.text);
    for (const std::string_view w : {"and", "or", "in", "if", "else", "for", "lambda", "await", "yield", "async"})
      if (word == w) return unexpected();
    if (!advance()) return false;
    if (word == "True" || word == "False") return add(cell::of(word == "True"), begin, out);
    if (word == "None") return fail("`None` is not part of the constraint language", begin, last_end_);
    if (is("(")) {
      const auto op = function_named(word);
      if (!op)
        return fail("there is no function `" + word +
                        "`; there are min, max, abs, round, int, float, bool, len, sum, range, list, tuple, set, "
                        "sorted, any, all and pow",
                    begin, last_end_);
      std::vector<number> kids;
      return arguments(word, *op, kids) && add(*op, std::move(kids), begin, out);
    }
    syntax_node n;
    n.what = node_kind::name;
    n.text = word;
    return add(std::move(n), begin, out);
  }

  bool parenthesis(number& out) {
    const auto begin = at_.begin;
    if (!advance()) return false;
    std::vector<number> kids;
    bool tuple = is(")");
    while (!is(")")) {
      number k = 0;
      const auto from = at_.begin;
      if (!expression(k)) return false;
      if (is("for") && !comprehension(k, from)) return false;
      kids.push_back(k);
      if (!is(",")) break;
      tuple = true;
      if (!advance()) return false;
    }
    if (!expect(")")) return false;
    if (tuple) return add(operation::make_tuple, std::move(kids), begin, out);
    out = kids[0];
    return true;
  }

  bool list(number& out) { return display("]", operation::make_list, out); }
  bool set(number& out) {
    const auto begin = at_.begin;
    if (!display("}", operation::make_set, out)) return false;
    if (tree_.nodes[out].what == node_kind::apply && tree_.nodes[out].kids.empty())
      return fail("dictionaries are not part of the constraint language", begin, last_end_);
    return true;
  }
  bool display(std::string_view close, operation op, number& out) {
    const auto begin = at_.begin;
    if (!advance()) return false;
    std::vector<number> kids;
    while (!is(close)) {
      number k = 0;
      if (!expression(k)) return false;
      if (is("for") && kids.empty()) {
        if (!comprehension(k, begin)) return false;
        if (!expect(close)) return false;
        if (op == operation::make_set) return add(operation::call_set, {k}, begin, out);
        out = k;
        return true;
      }
      kids.push_back(k);
      if (!is(",")) break;
      if (!advance()) return false;
    }
    return expect(close) && add(op, std::move(kids), begin, out);
  }

  /// `for x in a if b …` behind the element, which becomes the comprehension.
  bool comprehension(number& element, number begin) {
    syntax_node n;
    n.what = node_kind::comprehension;
    n.kids.push_back(element);
    while (is("for") || is("if")) {
      syntax_node::clause c;
      const bool loop = is("for");
      if (!advance()) return false;
      if (loop) {
        const bool bracket = is("(");
        if (bracket && !advance()) return false;
        while (at_.what == token_kind::name && !is("in")) {
          c.names.emplace_back(at_.text);
          if (!advance()) return false;
          if (!is(",")) break;
          if (!advance()) return false;
        }
        if (c.names.empty()) return unexpected();
        if (bracket && !expect(")")) return false;
        if (!expect("in")) return false;
      }
      number k = 0;
      // Behind `in` and `if` stands a disjunction: a bare `if` begins the next clause.
      if (!disjunction(k)) return false;
      c.kid = static_cast<number>(n.kids.size());
      n.kids.push_back(k);
      n.clauses.push_back(std::move(c));
    }
    return add(std::move(n), begin, element);
  }

  lexer lexer_;
  pool& pool_;
  syntax_tree& tree_;
  syntax_error& wrong_;
  token at_;
  number last_end_ = 0;
  number depth_ = 0;
  number lowest_at_ = 0; ///< one more than the node of 2^63, 0: none
  bool allow_lowest_ = false;
};

} // namespace

bool parse(std::string_view text, pool& literals, syntax_tree& out, syntax_error& wrong) {
  out = {};
  out.text = text;
  if (text.size() > expression_bytes_max) {
    wrong = {"the expression is longer than " + std::to_string(expression_bytes_max) + " bytes", 0, 1};
    return false;
  }
  return parser(out.text, literals, out, wrong).run();
}

std::string with_caret(std::string_view text, const syntax_error& wrong) {
  constexpr std::size_t window = 100;
  if (text.empty()) return wrong.message;
  std::string line(text);
  // One line, one column a byte of ASCII, whatever stands in the text.
  for (auto& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  std::size_t begin = std::min<std::size_t>(wrong.begin, line.size());
  std::size_t end = std::clamp<std::size_t>(wrong.end, begin, line.size());
  const auto continues = [&](std::size_t i) {
    return i < line.size() && (static_cast<unsigned char>(line[i]) & 0xc0u) == 0x80u;
  };
  const auto columns = [&](std::size_t from, std::size_t to) {
    std::size_t n = 0;
    for (auto i = from; i < to; ++i)
      if (!continues(i)) ++n;
    return n;
  };
  const auto column = columns(0, begin) + 1;
  std::string front;
  if (line.size() > window) {
    std::size_t from = begin > window / 2 ? begin - window / 2 : 0;
    while (from > 0 && continues(from)) --from;
    std::size_t to = std::min(line.size(), from + window);
    while (continues(to)) ++to;
    if (from > 0) front = "…";
    line = line.substr(from, to - from) + (to < text.size() ? "…" : "");
    begin -= from;
    end = std::min(end - from, to - from);
  }
  const auto indent = columns(0, begin) + (front.empty() ? 0 : 1);
  const auto width = std::max<std::size_t>(1, columns(begin, end));
  line = front + line;
  return "`" + line + "`, column " + std::to_string(column) + ": " + wrong.message + "\n  " + line + "\n  " +
         std::string(indent, ' ') + std::string(width, '^');
}

} // namespace attune::search
