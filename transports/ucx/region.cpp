#include <cstring>

#include "core/error.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace commtune::ucx {
namespace {

/// How rank 0..P-1 reach a part: where it is at its owner, and UCX's key to it.
struct RemotePart {
  std::uint64_t address = 0, bytes = 0;
  std::string packed_key;
  ucp_rkey_h key = nullptr;  ///< since the first use
};

std::string describe(std::uint64_t address, std::uint64_t bytes, const std::string& packed_key) {
  std::string text(2 * sizeof(std::uint64_t), '\0');
  std::memcpy(text.data(), &address, sizeof(address));
  std::memcpy(text.data() + sizeof(address), &bytes, sizeof(bytes));
  return text + packed_key;
}

RemotePart read_description(const std::string& text) {
  RemotePart part;
  std::memcpy(&part.address, text.data(), sizeof(part.address));
  std::memcpy(&part.bytes, text.data() + sizeof(part.address), sizeof(part.bytes));
  part.packed_key = text.substr(2 * sizeof(std::uint64_t));
  return part;
}

class UcxRegion final : public Region {
 public:
  UcxRegion(Peers& peers, Bootstrap& bootstrap, Completions& completions, std::size_t bytes)
      : peers_(peers), completions_(completions), bytes_(bytes) {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    params.length = bytes == 0 ? 1 : bytes;
    params.flags = UCP_MEM_MAP_ALLOCATE;
    check(ucp_mem_map(context(), &params, &memory_), "ucp_mem_map");
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(memory_, &attributes), "ucp_mem_query");
    data_ = static_cast<std::byte*>(attributes.address);
    std::memset(data_, 0, params.length);
    const auto address = reinterpret_cast<std::uintptr_t>(data_);
    for (const std::string& text :
         allgather_string(bootstrap, describe(address, bytes, pack_key()))) {
      parts_.push_back(read_description(text));
    }
  }
  ~UcxRegion() override {
    for (const RemotePart& part : parts_) {
      if (part.key != nullptr) ucp_rkey_destroy(part.key);
    }
    ucp_mem_unmap(context(), memory_);
  }
  UcxRegion(const UcxRegion&) = delete;
  UcxRegion& operator=(const UcxRegion&) = delete;

  std::span<std::byte> mine() noexcept override { return {data_, bytes_}; }
  std::size_t bytes(Rank rank) const noexcept override {
    return parts_[static_cast<std::size_t>(rank)].bytes;
  }

  void post_put(Rank to, std::size_t offset, std::span<const std::byte> data,
                Completion completion) override {
    const RemotePart& part = reach(to, offset, data.size());
    Operation* const operation = completions_.take(to, 0, data.size(), completion);
    const ucp_request_param_t param = Completions::told_by_sent(operation);
    Completions::settle(operation, ucp_put_nbx(peers_.endpoint(to), data.data(), data.size(),
                                               part.address + offset, part.key, &param));
  }

  void post_get(Rank from, std::size_t offset, std::span<std::byte> data,
                Completion completion) override {
    const RemotePart& part = reach(from, offset, data.size());
    Operation* const operation = completions_.take(from, 0, data.size(), completion);
    const ucp_request_param_t param = Completions::told_by_sent(operation);
    Completions::settle(operation, ucp_get_nbx(peers_.endpoint(from), data.data(), data.size(),
                                               part.address + offset, part.key, &param));
  }

  void post_flush(Rank to, Completion completion) override {
    check_region_access(to, peers_.size(), 0, 0, 0);
    Operation* const operation = completions_.take(to, 0, 0, completion);
    ucp_request_param_t param = Completions::told_by_sent(operation);
    param.op_attr_mask &= ~static_cast<std::uint32_t>(UCP_OP_ATTR_FIELD_MEMORY_TYPE);
    Completions::settle(operation, ucp_ep_flush_nbx(peers_.endpoint(to), &param));
  }

 private:
  ucp_context_h context() const noexcept { return peers_.worker().context(); }

  std::string pack_key() const {
    void* packed = nullptr;
    std::size_t length = 0;
    check(ucp_rkey_pack(context(), memory_, &packed, &length), "ucp_rkey_pack");
    std::string text(static_cast<const char*>(packed), length);
    ucp_rkey_buffer_release(packed);
    return text;
  }

  const RemotePart& reach(Rank peer, std::size_t offset, std::size_t bytes) {
    const bool known = peer >= 0 && peer < peers_.size();
    check_region_access(peer, peers_.size(), offset, bytes, known ? this->bytes(peer) : 0);
    RemotePart& part = parts_[static_cast<std::size_t>(peer)];
    if (part.key == nullptr) {
      check(ucp_ep_rkey_unpack(peers_.endpoint(peer), part.packed_key.data(), &part.key),
            "ucp_ep_rkey_unpack");
    }
    return part;
  }

  Peers& peers_;
  Completions& completions_;
  std::size_t bytes_;
  ucp_mem_h memory_ = nullptr;
  std::byte* data_ = nullptr;
  std::vector<RemotePart> parts_;
};

}  // namespace

std::unique_ptr<Region> make_region(Peers& peers, Bootstrap& bootstrap, Completions& completions,
                                    std::size_t bytes) {
  return std::make_unique<UcxRegion>(peers, bootstrap, completions, bytes);
}

}  // namespace commtune::ucx
