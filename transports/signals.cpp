#include "transports/signals.hpp"

#include <atomic>
#include <ctime>
#include <unistd.h>

namespace commtune {

namespace {

// A signal handler gets no argument of its own; these two are all it can reach.
std::atomic<bool> interruption_noted{false};
std::atomic<MonitorSlot*> terminated_slot{nullptr};

extern "C" void note_signal(int number) {
  if (number != SIGCHLD) interruption_noted.store(true, std::memory_order_relaxed);
}

extern "C" void note_terminated(int) {
  MonitorSlot* const slot = terminated_slot.load(std::memory_order_relaxed);
  if (slot == nullptr || slot->phase.load(std::memory_order_relaxed) == Phase::terminated) return;
  slot->failed_in.store(slot->phase.load(std::memory_order_relaxed), std::memory_order_relaxed);
  slot->phase.store(Phase::terminated, std::memory_order_release);
}

extern "C" void end_terminated(int number) {
  note_terminated(number);
  _exit(128 + SIGTERM);
}

}  // namespace

SignalGuard::SignalGuard() {
  interruption_noted.store(false, std::memory_order_relaxed);
  sigset_t block;
  sigemptyset(&block);
  for (const int number : watched) sigaddset(&block, number);
  pthread_sigmask(SIG_BLOCK, &block, &mask_);
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < watched.size(); ++i) sigaction(watched[i], &action, &before_[i]);
}

SignalGuard::~SignalGuard() { restore(); }

void SignalGuard::restore() const noexcept {
  for (std::size_t i = 0; i < watched.size(); ++i) sigaction(watched[i], &before_[i], nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

void SignalGuard::wait(double seconds, std::span<pollfd> files) const {
  const auto whole = static_cast<time_t>(seconds);
  const timespec limit{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  ppoll(files.data(), files.size(), &limit, &mask_);
}

bool SignalGuard::interrupted() const noexcept {
  return interruption_noted.load(std::memory_order_relaxed);
}

void mark_termination(MonitorSlot& slot, bool then_exit) {
  terminated_slot.store(&slot, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = then_exit ? end_terminated : note_terminated;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
}

void forget_termination() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  terminated_slot.store(nullptr, std::memory_order_relaxed);
}

}  // namespace commtune
