#include "cli/interrupts.hpp"

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>

#include <atomic>
#include <csignal>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace attune::cli {

struct interrupts::impl {
  asio::io_context loop{1};
  asio::signal_set signals{loop, SIGINT, SIGTERM};
  std::function<void(int)> stop;
  std::atomic<int> first{0};
  std::thread thread;

  void wait() {
    signals.async_wait([this](const asio::error_code& ec, int signal) {
      if (ec) return;
      if (first.load() != 0) {
        constexpr std::string_view text = "attune: ended at once\n";
        // Nothing can be done about a write that fails here.
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
        ::_exit(128 + signal);
      }
      first = signal;
      stop(signal);
      wait();
    });
  }
};

interrupts::interrupts(std::function<void(int)> stop) : impl_(std::make_unique<impl>()) {
  impl_->stop = std::move(stop);
  std::signal(SIGPIPE, SIG_IGN);
  impl_->wait();
  impl_->thread = std::thread([i = impl_.get()] { i->loop.run(); });
}

interrupts::~interrupts() {
  impl_->loop.stop();
  impl_->thread.join();
}

int interrupts::caught() const noexcept { return impl_->first.load(); }

} // namespace attune::cli
