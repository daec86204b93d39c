#include "collectives/libraries/gloo/context.hpp"

#include <algorithm>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/topology.hpp"
#include "transports/bootstrap.hpp"

namespace commtune {
namespace {

/// Gloo's key-value store over a bootstrap. Every rank sets as many keys as the others before it
/// reads, so a set is an exchange of everybody's keys and values, and nothing waits.
class BootstrapStore final : public gloo::rendezvous::Store {
 public:
  explicit BootstrapStore(Bootstrap& bootstrap) : bootstrap_(bootstrap) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const auto keys = allgather_string(bootstrap_, key);
    const auto values = allgather_string(bootstrap_, std::string_view(data.data(), data.size()));
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
      values_[keys[rank]] = {values[rank].begin(), values[rank].end()};
    }
  }
  std::vector<char> get(const std::string& key) override {
    const auto found = values_.find(key);
    if (found == values_.end()) fail(Errc::peer, "gloo: no rank has published '{}'", key);
    return found->second;
  }
  using Store::wait;
  void wait(const std::vector<std::string>&) override {}

 private:
  Bootstrap& bootstrap_;
  std::map<std::string, std::vector<char>> values_;
};

}  // namespace

std::shared_ptr<gloo::Context> connect_gloo(const Job& job) {
  const std::string host = discover_topology().host;
  const auto hosts = allgather_string(job.bootstrap, host);
  const bool one_host = std::all_of(hosts.begin(), hosts.end(),
                                    [&host](const std::string& other) { return other == host; });
  gloo::transport::tcp::attr address;
  address.hostname = one_host ? "127.0.0.1" : host;
  try {
    auto device = gloo::transport::tcp::CreateDevice(address);
    auto context = std::make_shared<gloo::rendezvous::Context>(job.rank(), job.size());
    BootstrapStore store(job.bootstrap);
    context->connectFullMesh(store, device);
    return context;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(Errc::peer, "gloo: rank {} cannot connect on {}: {}", job.rank(), address.hostname,
         error.what());
  }
}

}  // namespace commtune
