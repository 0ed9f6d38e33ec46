#include "net/fleet/client.hpp"

#include "net/store_messages.hpp"

#include <algorithm>
#include <filesystem>
#include <random>

namespace attune::net::fleet {

using wire::v1::Envelope;

void client::attach(link_ptr link) {
  wire_ = std::move(link);
  greeted_ = false;
  const std::weak_ptr<client> weak = weak_from_this();
  wire_->start(
      [weak](std::string_view body) {
        if (const auto self = weak.lock()) self->take(body);
      },
      [weak](const error& why) {
        if (const auto self = weak.lock()) self->lose(why);
      });
  std::random_device source;
  std::string id(16, '\0');
  for (auto& c : id) c = static_cast<char>(source());
  Envelope out;
  *out.mutable_hello() = hello_of(fleet_abilities(), id);
  wire_->send(out.SerializeAsString());
}

std::uint64_t client::ask(Envelope message) {
  message.set_request(++asked_);
  if (wire_) wire_->send(message.SerializeAsString());
  return asked_;
}

void client::take(std::string_view body) {
  Envelope message;
  status done;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size())))
    done = bad_message("a message cannot be read");
  else
    done = handle(message);
  if (!done) lose(done.err());
}

status client::handle(const Envelope& message) {
  if (!greeted_) {
    if (message.has_failed()) return error_of(message.failed());
    if (!message.has_welcome()) return bad_message("the hub does not greet");
    if (const auto agreed = agree(fleet_abilities(), message.welcome()); !agreed) return agreed.err();
    greeted_ = true;
    wire_->established();
    if (shown_) wire_->send(showing(*shown_).SerializeAsString());
    if (tell_.ready) tell_.ready();
    return {};
  }
  if (message.has_fetch()) {
    digest what;
    if (auto good = from(message.fetch().sha256(), what); !good) return good;
    const auto at = files_.find(what);
    if (at == files_.end()) return bad_message("the hub asks for a file that was not named");
    Envelope out;
    if (auto read = read_chunk(at->second, message.fetch(), *out.mutable_chunk()); !read) return read;
    wire_->send(out.SerializeAsString());
    return {};
  }
  if (message.has_authenticated()) return {};
  // What is answered to nothing in particular is about the connection.
  if (message.has_failed() && message.request() == 0) return error_of(message.failed());
  if (tell_.said) tell_.said(message);
  return {};
}

void client::lose(const error& why) {
  if (!wire_) return;
  std::exchange(wire_, nullptr)->close();
  if (tell_.lost) tell_.lost(why);
}

void client::close() {
  if (wire_) std::exchange(wire_, nullptr)->close_after_writing();
}

result<submission> submission_of(const std::string& spec, const std::vector<task_spec>& tasks) {
  namespace fs = std::filesystem;
  submission out;
  std::error_code ec;
  const auto folder = fs::absolute(spec, ec).lexically_normal().parent_path().string();
  const auto name = fs::path(spec).filename().string();
  std::vector<std::string> names{name};
  for (const auto& t : tasks) {
    if (t.build) names.insert(names.end(), t.build->sources.begin(), t.build->sources.end());
    names.insert(names.end(), t.run.files.begin(), t.run.files.end());
  }
  for (auto& n : names) n = fs::path(n).lexically_normal().string();
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  auto files = list_files(folder, names);
  if (!files) return error{files.err().code, files.err().message, spec};
  out.message.set_file(name);
  for (auto& f : *files) {
    to(f, *out.message.add_files());
    auto path = folder + "/" + f.path;
    out.files.emplace_back(std::move(f), std::move(path));
  }
  return out;
}

} // namespace attune::net::fleet
