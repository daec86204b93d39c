#include <string>
#include <utility>

#include "core/error.hpp"
#include "harness/document.hpp"

namespace commtune {
namespace {

std::string read_reason(StrictObject& object) {
  const Json& reason = object.at("reason");
  if (reason.is_null()) return {};
  require(reason.is_string(), "{}: reason is not a string or null", object.where());
  return reason.get<std::string>();
}

std::string read_status(StrictObject& object) {
  std::string status = object.string("status");
  require(status == "ok" || status == "partial" || status == "failed",
          "{}: status is \"{}\", must be one of ok, partial, failed", object.where(), status);
  return status;
}

}  // namespace

Json new_document(Json run) {
  Json document = Json::object();
  document["schema"] = result_schema;
  set_status(document, "partial", "");
  document["run"] = std::move(run);
  document["rows"] = Json::array();
  return document;
}

void set_status(Json& document, std::string_view status, std::string_view reason) {
  document["status"] = status;
  document["reason"] = reason.empty() ? Json() : Json(reason);
}

ResultFile::ResultFile(std::filesystem::path path, Json run)
    : path_(std::move(path)), document_(new_document(std::move(run))) {
  if (!path_.empty()) write_json_atomically(path_, document_);
}

void ResultFile::add(const Row& row) {
  if (path_.empty()) return;
  document_["rows"].push_back(to_json(row));
  write_json_atomically(path_, document_);
}

void ResultFile::update_run(const Json& members) { document_["run"].update(members); }

void ResultFile::finish(std::string_view status, std::string_view reason) {
  if (path_.empty()) return;
  set_status(document_, status, reason);
  write_json_atomically(path_, document_);
}

void begin_result_file(const std::filesystem::path& path, const RunOptions& options) {
  if (path.empty()) return;
  Json run = Json::object();
  run["argv"] = options.argv;
  run["label"] = options.label.empty() ? Json() : Json(options.label);
  run["seed"] = options.seed;
  write_json_atomically(path, new_document(std::move(run)));
}

void close_result_file(const std::filesystem::path& path, std::string_view reason) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return;
  Json document = read_json(path);
  const auto status = document.find("status");
  if (status == document.end() || *status != "partial") return;
  set_status(document, "failed", reason);
  write_json_atomically(path, document);
}

ResultDocument result_from_json(const Json& json, const std::string& where) {
  StrictObject object(json, where);
  const std::string schema = object.string("schema");
  require(schema == result_schema, "{}: schema is \"{}\", this program reads {}", where, schema,
          result_schema);
  ResultDocument document;
  document.status = read_status(object);
  document.reason = read_reason(object);
  document.run = object.at("run");
  require(document.run.is_object(), "{}: run is not an object", where);
  const Json& rows = object.at("rows");
  require(rows.is_array(), "{}: rows is not an array", where);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    document.rows.push_back(row_from_json(rows[i], fmt::format("{}: rows[{}]", where, i)));
  }
  object.finish();
  return document;
}

ResultDocument read_result(const std::filesystem::path& path) {
  return result_from_json(read_json(path), path.string());
}

}  // namespace commtune
