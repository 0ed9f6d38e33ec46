#include "actors/joint.hpp"

#include "actors/allocator.hpp"
#include "actors/turns.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

namespace attune::actors {

std::shared_ptr<const joint_report> joint_session::wait() {
  for (;;) {
    allocator_actor dealer;
    {
      const std::lock_guard guard(impl_->lock);
      if (impl_->report) return impl_->report;
      dealer = impl_->dealer;
    }
    if (!dealer) return nullptr;
    caf::scoped_actor self{*impl_->system};
    joint_report_ptr got;
    bool gone = false;
    auto asked = self->request(dealer, std::chrono::minutes(60), atom::report::value);
    if (may_receive(self, impl_->turn))
      asked.receive([&](const joint_report_ptr& r) { got = r; },
                    [&](const caf::error& e) { gone = e != caf::sec::request_timeout; });
    else
      gone = true;
    const std::lock_guard guard(impl_->lock);
    if (got) impl_->report = got;
    if (got || gone) return impl_->report;
  }
}

bool joint_session::ended() {
  allocator_actor dealer;
  {
    const std::lock_guard guard(impl_->lock);
    if (impl_->report || !impl_->dealer) return true;
    dealer = impl_->dealer;
  }
  caf::scoped_actor self{*impl_->system};
  bool out = true;
  auto asked = self->request(dealer, std::chrono::seconds(60), atom::status::value);
  if (may_receive(self, impl_->turn)) asked.receive([&](bool over) { out = over; }, [](const caf::error&) {});
  return out;
}

void joint_session::cancel() {
  const std::lock_guard guard(impl_->lock);
  if (impl_->dealer) caf::anon_send(impl_->dealer, atom::cancel::value);
}

tuner_status joint_session::progress(std::size_t task) {
  std::optional<session> one;
  {
    const std::lock_guard guard(impl_->lock);
    one = impl_->sessions[task];
  }
  return one ? one->progress() : tuner_status{};
}

} // namespace attune::actors
