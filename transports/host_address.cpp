#include "transports/host_address.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <string_view>
#include <unistd.h>

#include "core/error.hpp"

namespace commtune {
namespace {

std::string interface_address() {
  const char* const asked = std::getenv("COMMTUNE_INTERFACE");
  ifaddrs* all = nullptr;
  getifaddrs(&all);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const bool loopback = (each->ifa_flags & static_cast<unsigned>(IFF_LOOPBACK)) != 0;
    const bool up = (each->ifa_flags & static_cast<unsigned>(IFF_UP)) != 0;
    const bool wanted =
        asked != nullptr ? std::string_view(asked) == each->ifa_name : up && !loopback;
    if (!wanted) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* const address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    return text.data();
  }
  if (asked != nullptr) {
    fail(Errc::usage, "COMMTUNE_INTERFACE={}: no such network interface with an IPv4 address",
         asked);
  }
  fail(Errc::unavailable, "this host has no network interface that is up, only loopback");
}

}  // namespace

std::string job_address(Bootstrap& bootstrap) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  bool together = true;
  for (const auto& other : allgather_value(bootstrap, host)) together = together && other == host;
  return together ? "127.0.0.1" : interface_address();
}

}  // namespace commtune
