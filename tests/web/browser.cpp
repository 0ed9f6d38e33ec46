#include "tests/web/browser.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace attune::testing {

using nlohmann::json;

namespace {

std::string program() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

std::string from_base64(const std::string& text) {
  std::string out;
  unsigned bits = 0;
  int have = 0;
  for (const char c : text) {
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (v < 0) break;
    bits = bits << 6 | static_cast<unsigned>(v);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 255);
  }
  return out;
}

} // namespace

struct browser::impl {
  pid_t pid = -1;
  int in = -1, out = -1;
  std::string folder, buffer, session;
  int next = 0;
  std::deque<json> events;

  ~impl() {
    if (in >= 0) ::close(in);
    if (out >= 0) ::close(out);
    if (pid > 0) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    std::error_code ec;
    if (!folder.empty()) std::filesystem::remove_all(folder, ec);
  }

  json receive(const json& call) {
    for (;;) {
      if (const auto end = buffer.find('\0'); end != std::string::npos) {
        auto doc = json::parse(buffer.substr(0, end));
        buffer.erase(0, end + 1);
        return doc;
      }
      pollfd p{out, POLLIN, 0};
      if (::poll(&p, 1, 60'000) <= 0)
        throw std::runtime_error("for a minute the browser has said nothing, asked for " + call.dump().substr(0, 200));
      std::array<char, 65536> part;
      const auto n = ::read(out, part.data(), part.size());
      if (n <= 0) throw std::runtime_error("the browser has ended");
      buffer.append(part.data(), static_cast<std::size_t>(n));
    }
  }

  json send(const std::string& method, json params = json::object(), bool to_page = true) {
    const int id = ++next;
    json call{{"id", id}, {"method", method}, {"params", std::move(params)}};
    if (to_page) call["sessionId"] = session;
    const auto text = call.dump() + '\0';
    for (std::size_t sent = 0; sent < text.size();) {
      const auto n = ::write(in, text.data() + sent, text.size() - sent);
      if (n <= 0) throw std::runtime_error("the browser has ended");
      sent += static_cast<std::size_t>(n);
    }
    for (;;) {
      auto doc = receive(call);
      if (doc.value("id", 0) != id) {
        if (doc.contains("method")) events.push_back(std::move(doc));
        continue;
      }
      if (doc.contains("error")) throw std::runtime_error(method + ": " + doc["error"].dump());
      return doc["result"];
    }
  }
};

browser::browser(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
browser::~browser() = default;

std::unique_ptr<browser> browser::start() {
  const auto path = program();
  if (path.empty()) return nullptr;
  auto made = std::make_unique<impl>();
  auto& i = *made;
  i.folder = (std::filesystem::temp_directory_path() / "attune-browser-XXXXXX").string();
  if (::mkdtemp(i.folder.data()) == nullptr) throw std::runtime_error("no folder for the browser");
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const std::string profile = "--user-data-dir=" + i.folder;
  i.pid = ::fork();
  if (i.pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Ends above those that are to be made, so that none is overwritten.
    const int input = ::fcntl(to[0], F_DUPFD, 10), output = ::fcntl(from[1], F_DUPFD, 10),
              none = ::open("/dev/null", O_RDWR);
    ::dup2(none, 0);
    ::dup2(none, 1);
    ::dup2(none, 2);
    ::dup2(input, 3);
    ::dup2(output, 4);
    ::setenv("HOME", i.folder.c_str(), 1);
    ::execl(path.c_str(), path.c_str(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--disable-features=BackForwardCache,SpareRendererForSitePerProcess",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-precise-memory-info", profile.c_str(),
            "about:blank", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  i.in = to[1];
  i.out = from[0];
  const auto target = i.send("Target.createTarget", {{"url", "about:blank"}}, false);
  i.session =
      i.send("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}}, false)["sessionId"];
  for (const auto* domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) i.send(domain);
  return std::unique_ptr<browser>(new browser(std::move(made)));
}

void browser::open(const std::string& url) { impl_->send("Page.navigate", {{"url", url}}); }

void browser::size(int width, int height, bool phone) {
  impl_->send("Emulation.setDeviceMetricsOverride",
              {{"width", width}, {"height", height}, {"deviceScaleFactor", phone ? 2 : 1}, {"mobile", phone}});
}

void browser::scheme(const std::string& light_or_dark) {
  impl_->send("Emulation.setEmulatedMedia",
              {{"features", json::array({{{"name", "prefers-color-scheme"}, {"value", light_or_dark}}})}});
}

json browser::value(const std::string& expression) {
  const auto r =
      impl_->send("Runtime.evaluate", {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  if (r.contains("exceptionDetails")) throw std::runtime_error(expression + ": " + r["exceptionDetails"].dump());
  return r["result"].value("value", json(nullptr));
}

void browser::until(const std::string& expression) {
  // Looked at by the page itself. A page that is being left takes its answer with it: the next one is asked again.
  const auto look =
      "new Promise((go) => { const end = performance.now() + 50000; const look = () => { let ok = false; try "
      "{ ok = !!(" +
      expression + "); } catch {} if (ok || performance.now() > end) go(ok); else setTimeout(look, 20); }; look(); })";
  for (int left = 100;; --left) {
    try {
      if (value(look) == true) return;
      break;
    } catch (const std::runtime_error& e) {
      if (left == 0 || std::string_view(e.what()).find("context") == std::string_view::npos) throw;
    }
  }
  throw std::runtime_error("never true: " + expression);
}

void browser::key(const std::string& name, const std::string& code, int number) {
  for (const auto* type : {"keyDown", "keyUp"}) {
    json what{{"type", type}, {"key", name}, {"code", code}, {"windowsVirtualKeyCode", number}};
    if (name == "Enter" && type == std::string_view("keyDown")) what["text"] = "\r"; // else it presses no button
    impl_->send("Input.dispatchKeyEvent", what);
  }
}

std::vector<std::string> browser::complaints(const std::string& allowed) {
  value("1"); // what has been said until now has come
  std::vector<std::string> out;
  for (const auto& e : impl_->events) {
    const auto method = e["method"].get<std::string>();
    const auto& p = e["params"];
    if (method == "Runtime.exceptionThrown") out.push_back(p["exceptionDetails"].dump());
    if (method == "Runtime.consoleAPICalled" && p["type"] == "error") out.push_back(p.dump());
    if (method == "Log.entryAdded" && p["entry"]["level"] == "error") out.push_back(p["entry"].dump());
    if (method != "Network.requestWillBeSent") continue;
    const auto url = p["request"]["url"].get<std::string>();
    if (!url.starts_with("data:") && !url.starts_with("blob:") && !url.starts_with("file:") &&
        (allowed.empty() || !url.starts_with(allowed)))
      out.push_back("a request for " + url);
  }
  impl_->events.clear();
  return out;
}

double browser::renderer_mb() const {
  double most = 0;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ec)) {
    std::ifstream line(entry.path() / "cmdline", std::ios::binary);
    const std::string words{std::istreambuf_iterator<char>(line), {}};
    if (words.find(impl_->folder) == std::string::npos || words.find("--type=renderer") == std::string::npos) continue;
    std::ifstream maps(entry.path() / "smaps_rollup");
    for (std::string name; maps >> name;)
      if (double kb = 0; name == "Pss:" && maps >> kb) most = std::max(most, kb / 1000);
  }
  return most;
}

std::string browser::picture() {
  const auto size = impl_->send("Page.getLayoutMetrics")["cssContentSize"];
  return from_base64(impl_->send(
      "Page.captureScreenshot",
      {{"format", "png"},
       {"captureBeyondViewport", true},
       {"clip", {{"x", 0}, {"y", 0}, {"width", size["width"]}, {"height", size["height"]}, {"scale", 1}}}})["data"]);
}

} // namespace attune::testing
