#include "net/fleet/client.hpp"

#include "net/network_error.hpp"
#include "net/store_messages.hpp"

#include <algorithm>
#include <filesystem>
#include <random>

namespace attune::net::fleet {

using wire::v1::Envelope;

void client::attach(link_ptr link) {
  wire_ = std::move(link);
  std::random_device source;
  std::string id(16, '\0');
  for (auto& c : id) c = static_cast<char>(source());
  const std::weak_ptr<client> weak = weak_from_this();
  greeting_.begin(
      wire_, id,
      [weak](std::string_view body) {
        if (const auto self = weak.lock()) self->take(body);
      },
      [weak](const error& why) {
        if (const auto self = weak.lock()) self->lose(why);
      });
}

std::uint64_t client::ask(Envelope message) {
  message.set_request(++asked_);
  if (wire_) wire_->send(message.SerializeAsString());
  return asked_;
}

void client::take(std::string_view body) {
  if (!wire_) return;
  Envelope message;
  status done;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size())))
    done = network_error("a message cannot be read");
  else
    done = handle(message);
  if (!done) lose(done.err());
}

status client::handle(const Envelope& message) {
  if (!greeting_.over()) {
    if (auto good = greeting_.take(*wire_, message); !good) return good;
    if (tell_.ready) tell_.ready();
    return {};
  }
  if (message.has_artifact_fetch()) {
    if (auto good = gives_.answer(message.artifact_fetch(), part_); !good) return good;
    wire_->send(part_);
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
  to(*files, *out.message.mutable_files());
  for (auto& f : files->files) {
    auto path = folder + "/" + f.path;
    out.files.emplace_back(std::move(f), std::move(path));
  }
  return out;
}

} // namespace attune::net::fleet
