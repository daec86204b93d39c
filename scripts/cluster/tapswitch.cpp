// A switch in user space between the network namespaces of emulated hosts: a rate for every network
// card and a delay and rate for every ordered pair, which the kernel's own queues cannot give where
// netem is missing.
//
//   tapswitch [--rate MBIT] [--delay US] [--matrix FILE] NAMESPACE...
//
// Every namespace gets a TAP device eth0; host i has the Ethernet address 02:cc:00:00:<i>. Frames
// carry a virtio header, so that whole TCP segments of up to 64 KiB pass at once. Prints "ready".
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/if_tun.h>
#include <memory>
#include <net/if.h>
#include <queue>
#include <sched.h>
#include <string>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace {

/// As in linux/virtio_net.h, which is no C++.
struct VirtioHeader {
  std::uint8_t flags, gso_type;
  std::uint16_t header_bytes, segment_bytes, checksum_start, checksum_offset;
};

constexpr std::size_t largest_frame = 70000;
constexpr std::uint64_t largest_backlog = 1U << 20U;  ///< bytes of one sender in the switch
/// Timers wake late by about this much, so that the switch spins over the rest of a wait.
constexpr std::uint64_t spin_ns = 70000;
constexpr double frame_overhead = 24;    ///< bytes on the wire beside a frame: preamble, gap, check
constexpr double segment_overhead = 78;  ///< of every further segment that a card would make

volatile sig_atomic_t stopped = 0;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "tapswitch: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

double bytes_per_ns(double mbit) { return mbit * 1e6 / 8 / 1e9; }

struct Link {
  double rate = 0;            ///< bytes per ns, 0: no limit
  std::uint64_t free_at = 0;  ///< when it has sent what was given to it
  /// When `bytes` that arrive at `at` have passed.
  std::uint64_t pass(double bytes, std::uint64_t at) {
    if (rate <= 0) return at;
    free_at = std::max(at, free_at) + static_cast<std::uint64_t>(bytes / rate);
    return free_at;
  }
};

struct Packet {
  std::uint64_t due_ns, number;
  std::size_t from, to;
  std::vector<char> bytes;
};
struct Later {
  bool operator()(const std::unique_ptr<Packet>& a, const std::unique_ptr<Packet>& b) const {
    return a->due_ns != b->due_ns ? a->due_ns > b->due_ns : a->number > b->number;
  }
};

class Switch {
 public:
  Switch(const std::vector<std::string>& namespaces, double mbit, double delay_us)
      : out_(namespaces.size(), Link{bytes_per_ns(mbit), 0}),
        in_(out_),
        pair_(namespaces.size() * namespaces.size()),
        delay_ns_(pair_.size(), static_cast<std::uint64_t>(delay_us * 1e3)),
        backlog_(namespaces.size()),
        paused_(namespaces.size()),
        poll_(epoll_create1(EPOLL_CLOEXEC)) {
    const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    for (std::size_t i = 0; i < namespaces.size(); ++i) {
      taps_.push_back(open_tap(namespaces[i]));
      watch(i, EPOLL_CTL_ADD, EPOLLIN);
    }
    if (setns(own, CLONE_NEWNET) != 0) die("own network namespace");
  }

  void set_pair(std::size_t from, std::size_t to, double delay_us, double mbit) {
    if (from >= taps_.size() || to >= taps_.size()) return;
    delay_ns_[from * taps_.size() + to] = static_cast<std::uint64_t>(delay_us * 1e3);
    pair_[from * taps_.size() + to].rate = bytes_per_ns(mbit);
  }

  void run() {
    while (stopped == 0) {
      deliver();
      epoll_event events[64];
      const int count = wait(events, 64);
      for (int i = 0; i < count; ++i) receive(events[i].data.u32);
    }
  }

 private:
  static int open_tap(const std::string& name) {
    const int space = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) die("namespace " + name);
    close(space);
    const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq request{};
    std::strcpy(request.ifr_name, "eth0");
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request) != 0) die("TAP device in " + name);
    int header = sizeof(VirtioHeader);
    ioctl(tap, TUNSETVNETHDRSZ, &header);
    if (ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0) die("offload");
    return tap;
  }

  void watch(std::size_t host, int operation, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.u32 = static_cast<std::uint32_t>(host);
    epoll_ctl(poll_, operation, taps_[host], &event);
  }

  void deliver() {
    const std::uint64_t now = now_ns();
    while (!queue_.empty() && queue_.top()->due_ns <= now) {
      const Packet& packet = *queue_.top();
      // A full or downed receiver loses the frame, as a real one does.
      [[maybe_unused]] const ssize_t written =
          write(taps_[packet.to], packet.bytes.data(), packet.bytes.size());
      const std::size_t from = packet.from;
      backlog_[from] -= packet.bytes.size();
      queue_.pop();
      if (paused_[from] && backlog_[from] < largest_backlog / 2) {
        paused_[from] = false;
        watch(from, EPOLL_CTL_MOD, EPOLLIN);
      }
    }
  }

  int wait(epoll_event* events, int most) const {
    timespec limit{};
    if (queue_.empty()) return epoll_pwait2(poll_, events, most, nullptr, nullptr);
    const std::uint64_t due = queue_.top()->due_ns, now = now_ns();
    const std::uint64_t sleep = due > now + spin_ns ? due - now - spin_ns : 0;
    limit.tv_sec = static_cast<time_t>(sleep / 1000000000U);
    limit.tv_nsec = static_cast<long>(sleep % 1000000000U);
    return epoll_pwait2(poll_, events, most, &limit, nullptr);
  }

  void receive(std::size_t from) {
    constexpr int most_at_once = 16;
    for (int i = 0; i < most_at_once; ++i) {
      std::vector<char> bytes(largest_frame);
      const ssize_t got = read(taps_[from], bytes.data(), bytes.size());
      if (got <= static_cast<ssize_t>(sizeof(VirtioHeader)) + 6) return;
      bytes.resize(static_cast<std::size_t>(got));
      const auto* const to =
          reinterpret_cast<const unsigned char*>(bytes.data()) + sizeof(VirtioHeader);
      if (to[0] == 0x02 && to[1] == 0xcc) {
        const std::size_t host = static_cast<std::size_t>(to[4]) << 8U | to[5];
        if (host < taps_.size() && host != from) pass(from, host, std::move(bytes));
      } else {
        for (std::size_t host = 0; host < taps_.size(); ++host) {
          if (host != from) pass(from, host, bytes);
        }
      }
      if (backlog_[from] > largest_backlog) {
        paused_[from] = true;
        return watch(from, EPOLL_CTL_MOD, 0);
      }
    }
  }

  void pass(std::size_t from, std::size_t to, std::vector<char> bytes) {
    VirtioHeader header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    double wire = static_cast<double>(bytes.size() - sizeof(header)) + frame_overhead;
    if (header.gso_type != 0 && header.segment_bytes != 0) {
      wire += static_cast<double>(bytes.size() / header.segment_bytes) * segment_overhead;
    }
    const std::size_t pair = from * taps_.size() + to;
    std::uint64_t at = out_[from].pass(wire, now_ns());
    at = pair_[pair].pass(wire, at) + delay_ns_[pair];
    if (in_[to].rate >
        0) {  // cut through: the last byte arrives when it has left, unless others queue
      const auto own = static_cast<std::uint64_t>(wire / in_[to].rate);
      at = in_[to].pass(wire, at > own ? at - own : 0);
    }
    backlog_[from] += bytes.size();
    queue_.push(std::make_unique<Packet>(Packet{at, next_++, from, to, std::move(bytes)}));
  }

  std::vector<Link> out_, in_, pair_;
  std::vector<std::uint64_t> delay_ns_, backlog_;
  std::vector<bool> paused_;
  std::vector<int> taps_;
  int poll_;
  std::uint64_t next_ = 0;
  std::priority_queue<std::unique_ptr<Packet>, std::vector<std::unique_ptr<Packet>>, Later> queue_;
};

}  // namespace

int main(int argc, char** argv) {
  double mbit = 0, delay_us = 0;
  std::string matrix;
  std::vector<std::string> namespaces;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--rate" && i + 1 < argc) {
      mbit = std::atof(argv[++i]);
    } else if (word == "--delay" && i + 1 < argc) {
      delay_us = std::atof(argv[++i]);
    } else if (word == "--matrix" && i + 1 < argc) {
      matrix = argv[++i];
    } else {
      namespaces.push_back(word);
    }
  }
  Switch hosts(namespaces, mbit, delay_us);
  if (!matrix.empty()) {
    std::ifstream file(matrix);
    if (!file) die(matrix);
    std::size_t from = 0, to = 0;
    double delay = 0, rate = 0;
    while (file >> from >> to >> delay >> rate) hosts.set_pair(from, to, delay, rate);
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  prctl(PR_SET_TIMERSLACK, 1000UL);
  // A switch that lost its processor would delay everything by a time slice.
  sched_param priority{};
  priority.sched_priority = 10;
  sched_setscheduler(0, SCHED_FIFO, &priority);
  std::printf("ready\n");
  std::fflush(stdout);
  hosts.run();
}
