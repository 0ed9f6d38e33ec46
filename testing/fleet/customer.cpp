#include "testing/fleet/customer.hpp"

#include "net/store_messages.hpp"

#include <utility>

namespace attune::testing {

using wire::v1::Envelope;

customer::customer(setting how)
    : how_(std::move(how)),
      pause_(std::chrono::milliseconds(200), std::chrono::seconds(5), how_.seed),
      self_(std::make_shared<customer*>(this)) {}

customer::~customer() { self_.reset(); }

void customer::begin() {
  ++typed_;
  make_line();
  dial();
}

void customer::make_line() {
  ++epoch_;
  const auto weak = std::weak_ptr(self_);
  const auto mine = [weak, epoch = epoch_]() -> customer* {
    const auto self = weak.lock();
    return self && (*self)->epoch_ == epoch ? *self : nullptr;
  };
  net::fleet::client::events tell;
  tell.ready = [mine] {
    if (auto* self = mine()) self->ready();
  };
  tell.said = [mine](const Envelope& e) {
    if (auto* self = mine()) self->said(e);
  };
  tell.lost = [mine](const error&) {
    if (auto* self = mine()) self->again(self->pause_.next());
  };
  line_ = std::make_shared<net::fleet::client>(std::move(tell));
  for (const auto& [file, path] : how_.what.files) line_->offer(file, path);
}

void customer::dial() {
  auto made = how_.dial();
  if (!made) return again(pause_.next());
  wire_ = made->wire;
  line_->attach(std::move(made->there));
}

void customer::again(nanoseconds after) {
  how_.time->after(after, [weak = std::weak_ptr(self_), epoch = epoch_] {
    const auto self = weak.lock();
    if (self && (*self)->epoch_ == epoch && !(*self)->ended_) (*self)->dial();
  });
}

void customer::go_away(nanoseconds d, bool anew) {
  if (ended_ || !line_) return;
  line_->close();
  ++epoch_;
  if (anew) anew_ = true;
  how_.time->after(d, [weak = std::weak_ptr(self_), epoch = epoch_] {
    const auto self = weak.lock();
    if (self && (*self)->epoch_ == epoch) (*self)->begin();
  });
}

void customer::ready() {
  pause_.reset();
  Envelope out;
  if (job_.empty() || anew_)
    *out.mutable_submit() = how_.what.message;
  else
    out.mutable_follow()->set_job(job_);
  line_->ask(std::move(out));
}

void customer::said(const Envelope& message) {
  if (ended_) return;
  if (message.has_submitted()) {
    job_ = message.submitted().job();
    anew_ = false;
  } else if (message.has_progress()) {
    if (const auto& p = message.progress(); p.has_best()) how_.books->shown(how_.task, p.best(), p.best_config());
  } else if (message.has_failed()) {
    const auto why = net::error_of(message.failed());
    if (!anew_ && !job_.empty())
      how_.books->broken("durable before told",
                         how_.name + " has the job " + job_ + ", and the hub says: " + why.text());
    how_.books->broken("a job that is right is taken", how_.name + ": " + why.text());
  } else if (message.has_ended()) {
    if (message.ended().code() > 1) {
      std::string said;
      for (const auto& m : message.ended().messages()) said += m + "; ";
      // No device for too long, or no disk just now, is no fault of the hub's: the command is typed again.
      if ((said.find("waited") != std::string::npos || said.find("no space left") != std::string::npos) && typed_ < 8) {
        anew_ = true;
        return go_away(std::chrono::seconds(5), true);
      }
      how_.books->broken("a job that is right is done",
                         how_.name + ": code " + std::to_string(message.ended().code()) + ": " + said);
    }
    ended_ = message.ended();
    line_->close();
  }
}

} // namespace attune::testing
