#include "cli/man_page.hpp"

#include "core/text.hpp"

namespace attune::cli {

namespace {

/// Text as groff prints it: backslashes and hyphens as they are, no line taken for a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (out.empty() || out.back() == '\n')
      if (c == '.' || c == '\'') out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

/// A help's end: paragraphs, and what is indented by two as it stands.
std::string roff_body(const std::string& text) {
  std::string out;
  bool example = false, fresh = true;
  for (const auto line : split(text, '\n')) {
    const bool indented = line.starts_with("  ");
    if (line.empty()) {
      if (example) out += "\n"; // between two examples, or behind the last
      fresh = true;
      continue;
    }
    if (example && !indented) {
      out += ".EE\n.RE\n";
      example = false;
      fresh = true;
    }
    if (!example && indented) {
      out += ".PP\n.RS 4\n.EX\n";
      example = true;
    } else if (!example && fresh) {
      out += ".PP\n";
    }
    fresh = false;
    out += roff(indented ? line.substr(2) : line) + "\n";
  }
  if (example) out += ".EE\n.RE\n";
  return out;
}

std::string roff_option(const option_spec& o) {
  std::string out = ".TP\n";
  const auto names = o.each_name();
  for (std::size_t i = 0; i < names.size(); ++i) out += (i > 0 ? ", " : "") + ("\\fB" + roff(names[i]) + "\\fR");
  if (!o.by_place() && !o.value.empty()) out += " \\fI" + roff(o.value) + "\\fR";
  if (o.flag() && std::holds_alternative<std::string*>(o.to)) out += "[=\\fIVALUE\\fR]";
  out += "\n" + roff(o.about) + (o.required && !o.by_place() ? " (needed)" : "") + ".\n";
  return out;
}

struct man_writer {
  std::vector<std::pair<std::string, std::string>> out;

  static std::string joined_name(const std::vector<std::string>& path, const char* between) {
    std::string text;
    for (const auto& p : path) text += (text.empty() ? "" : between) + p;
    return text;
  }

  void page(const command_spec& c, std::vector<std::string> path) {
    path.push_back(c.name);
    const auto file = joined_name(path, "-");
    std::string upper = file;
    for (auto& ch : upper)
      if (ch >= 'a' && ch <= 'z') ch = static_cast<char>(ch - 'a' + 'A');
    std::string text = ".TH \"" + roff(upper) + "\" 1 \"\" \"attune " + program_version() + "\" \"Attune\"\n";
    text += ".SH NAME\n" + roff(file) + " \\- " + roff(c.about) + "\n";
    text += ".SH SYNOPSIS\n.B " + roff(joined_name(path, " ")) + "\n";
    if (!c.below.empty()) text += ".I COMMAND\n";
    text += "[\\fIOPTION\\fR ...]\n";
    for (const auto& o : c.options) {
      if (!o.by_place()) continue;
      const std::string name = "\\fI" + roff(o.names) + "\\fR" + (o.many() ? " ..." : "");
      text += (o.required ? name : "[" + name + "]") + "\n";
    }
    if (!c.more.empty()) text += ".SH DESCRIPTION\n" + roff_body(c.more);
    if (!c.below.empty()) {
      text += ".SH COMMANDS\n";
      for (const auto& sub : c.below)
        text += ".TP\n\\fB" + roff(joined_name(path, " ") + " " + sub.name) + "\\fR\n" + roff(sub.about) + ".\n";
    }
    bool places = false;
    for (const auto& o : c.options) {
      if (!o.by_place()) continue;
      text += (places ? "" : ".SH ARGUMENTS\n") + roff_option(o);
      places = true;
    }
    text += ".SH OPTIONS\n";
    for (const auto& o : c.options)
      if (!o.by_place()) text += roff_option(o);
    for (const auto& o : common_options(c)) text += roff_option(o);
    if (path.size() > 1) text += ".SH EXIT STATUS\n" + roff_body(exit_codes_text());
    text += ".SH ENVIRONMENT\n.TP\n.B ATTUNE_STORE\nThe folder of the store, where no \\fB\\-\\-store\\fR is given.\n";
    text += ".SH SEE ALSO\n";
    std::vector<std::string> others;
    if (path.size() > 1) others.push_back("attune");
    if (path.size() > 2) others.push_back(joined_name({path[0], path[1]}, "-"));
    for (const auto& sub : c.below) others.push_back(file + "-" + sub.name);
    if (others.empty()) others.push_back("attune-tune");
    for (std::size_t i = 0; i < others.size(); ++i)
      text += ".BR " + roff(others[i]) + " (1)" + (i + 1 < others.size() ? "," : "") + "\n";
    out.emplace_back(file + ".1", std::move(text));
    for (const auto& sub : c.below) page(sub, path);
  }
};

} // namespace

std::vector<std::pair<std::string, std::string>> man_pages(const command_spec& program) {
  man_writer w;
  w.page(program, {});
  return std::move(w.out);
}

} // namespace attune::cli
