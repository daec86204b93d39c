#include "dnn_proxy/importers/chrome_trace.hpp"

#include <limits>

#include "core/error.hpp"
#include "dnn_proxy/byte_source.hpp"

namespace commtune {
namespace {

constexpr std::size_t max_depth = 256;  ///< as in parse_json: values are also copied and written
/// Times within these bounds can be added and subtracted; as time since 1970 they end in 2116.
constexpr std::int64_t latest_ns = std::int64_t{1} << 62, longest_ns = std::int64_t{1} << 60;

/// Builds one small JSON value from parser events.
class ValueBuilder {
 public:
  bool active() const noexcept { return !stack_.empty(); }
  std::size_t depth() const noexcept { return stack_.size(); }
  const std::string& key() const noexcept { return key_; }
  void key(std::string& text) { key_.swap(text); }

  void open(Json container) {
    if (stack_.empty()) {
      root_ = std::move(container);
      stack_.push_back(&root_);
    } else {
      stack_.push_back(place(std::move(container)));
    }
  }
  void scalar(Json value) { place(std::move(value)); }
  /// True when the whole value is complete.
  bool close() {
    stack_.pop_back();
    return stack_.empty();
  }
  Json take() { return std::move(root_); }

 private:
  Json* place(Json value) {
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& slot = parent[key_];
    slot = std::move(value);
    return &slot;
  }

  Json root_;
  std::vector<Json*> stack_;
  std::string key_;
};

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null()) return {};
  return at->is_string() ? at->get<std::string>() : at->dump();
}

/// Parser events of the whole document; keeps only the event being read.
class Handler {
 public:
  Handler(std::string path, const std::function<void(const ChromeEvent&)>& visit)
      : path_(std::move(path)), visit_(visit) {}

  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(std::int64_t value) {
    return is_time() ? time(std::to_string(value)) : scalar(value);
  }
  bool number_unsigned(std::uint64_t value) {
    return is_time() ? time(std::to_string(value)) : scalar(value);
  }
  bool number_float(double value, const std::string& text) {
    return is_time() ? time(text) : scalar(value);
  }
  bool string(std::string& value) {
    return is_time() ? time(value) : scalar(Json(std::move(value)));
  }
  bool binary(Json::binary_t&) { return false; }

  bool start_object(std::size_t) { return open(Json::object(), false); }
  bool start_array(std::size_t) { return open(Json::array(), true); }
  bool key(std::string& text) {
    if (value_.active())
      value_.key(text);
    else if (depth_ == 1)
      top_key_ = text;
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    std::string_view reason = e.what();
    if (const auto at = reason.find(": "); at != std::string_view::npos)
      reason.remove_prefix(at + 2);
    fail(Errc::usage, "{}: byte {}: {}", path_, position, reason);
  }

  ChromeHeader finish() {
    require(seen_events_, "{}: no \"traceEvents\" array", path_);
    return std::move(header_);
  }

 private:
  enum class Target { none, event, distributed };

  bool is_time() const {
    return value_.active() && target_ == Target::event && value_.depth() == 1 &&
           (value_.key() == "ts" || value_.key() == "dur");
  }
  bool time(const std::string& text) {
    value_.scalar(microseconds_to_ns(
        text, fmt::format("{}: event {}: \"{}\"", path_, events_, value_.key())));
    return true;
  }

  void refuse_time() const {
    fail(Errc::usage, "{}: event {}: \"{}\" is not a number of microseconds", path_, events_,
         value_.key());
  }

  bool scalar(Json value) {
    if (is_time()) refuse_time();
    if (value_.active()) {
      value_.scalar(std::move(value));
    } else if (depth_ == 1 && !header_.bare_array && top_key_ == "distributedInfo") {
      if (value.is_string())
        value = parse_json(value.get<std::string>(), path_ + ": distributedInfo");
      header_.distributed = std::move(value);
    } else {
      require(depth_ > 0, "{}: not a trace: the document is {}", path_, value.type_name());
      require(!in_events(), "{}: event {} is not an object", path_, events_);
    }
    return true;
  }

  bool in_events() const {
    return header_.bare_array ? depth_ == 1 : depth_ == 2 && top_key_ == "traceEvents";
  }

  bool open(Json container, bool array) {
    if (value_.active()) {
      if (is_time()) refuse_time();
      require(value_.depth() < max_depth, "{}: event {}: nested deeper than {} levels", path_,
              events_, max_depth);
      value_.open(std::move(container));
      return true;
    }
    if (depth_ == 0 && array) header_.bare_array = seen_events_ = true;
    if (depth_ == 1 && array && top_key_ == "traceEvents") {
      seen_events_ = true;
    } else if (depth_ > 0 && in_events()) {
      require(!array, "{}: event {} is not an object", path_, events_);
      target_ = Target::event;
      value_.open(std::move(container));
      return true;
    } else if (depth_ == 1 && !header_.bare_array && top_key_ == "distributedInfo") {
      target_ = Target::distributed;
      value_.open(std::move(container));
      return true;
    }
    ++depth_;
    return true;
  }

  bool close() {
    if (!value_.active()) {
      --depth_;
      return true;
    }
    if (!value_.close()) return true;
    if (target_ == Target::distributed)
      header_.distributed = value_.take();
    else
      emit(value_.take());
    target_ = Target::none;
    return true;
  }

  void emit(Json json) {
    ChromeEvent event;
    event.index = events_++;
    event.phase = text_of(json, "ph");
    event.category = text_of(json, "cat");
    event.name = text_of(json, "name");
    event.thread = text_of(json, "tid");
    event.timed = json.contains("ts");
    if (event.timed) event.begin_ns = json["ts"].get<std::int64_t>();
    if (json.contains("dur")) event.duration_ns = json["dur"].get<std::int64_t>();
    require(event.duration_ns >= 0, "{}: event {} \"{}\" has a negative duration", path_,
            event.index, event.name);
    require(event.begin_ns >= -longest_ns && event.begin_ns <= latest_ns &&
                event.duration_ns <= longest_ns,
            "{}: event {} \"{}\" begins at {} ns and lasts {} ns, which is out of range", path_,
            event.index, event.name, event.begin_ns, event.duration_ns);
    if (const auto args = json.find("args"); args != json.end() && args->is_object())
      event.args = std::move(*args);
    visit_(event);
  }

  std::string path_;
  const std::function<void(const ChromeEvent&)>& visit_;
  ChromeHeader header_;
  ValueBuilder value_;
  Target target_ = Target::none;
  std::size_t depth_ = 0;
  std::string top_key_;
  bool seen_events_ = false;
  std::uint64_t events_ = 0;
};

}  // namespace

std::int64_t microseconds_to_ns(std::string_view text, std::string_view where) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  std::int64_t value = 0;
  int fraction = -1;
  bool digits = false;
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 10 - 1;
  for (const char c : rest) {
    if (c == '.' && fraction < 0) {
      fraction = 0;
    } else if (c >= '0' && c <= '9' && value <= limit) {
      digits = true;
      if (fraction >= 3) continue;
      value = value * 10 + (c - '0');
      if (fraction >= 0) ++fraction;
    } else {
      fail(Errc::usage, "{}: \"{}\" is not a time in microseconds", where, text);
    }
  }
  require(digits, "{}: \"{}\" is not a time in microseconds", where, text);
  for (int i = fraction < 0 ? 0 : fraction; i < 3; ++i) {
    require(value <= limit, "{}: \"{}\" is out of range", where, text);
    value *= 10;
  }
  return negative ? -value : value;
}

ChromeHeader read_chrome_trace(const std::filesystem::path& path,
                               const std::function<void(const ChromeEvent&)>& visit) {
  TraceStream in(path);
  Handler handler(path.string(), visit);
  Json::sax_parse(in, &handler);
  return handler.finish();
}

}  // namespace commtune
