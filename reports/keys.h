// Which samples a comparison takes and how it groups them, in the language of benchstat's filters and projections
// (golang.org/x/perf/benchproc/syntax).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::reports {

// A number of a run, as keys see it.
struct Subject {
  const result::Json* document = nullptr;  // the run's result
  std::string group, file;                 // ".group": "A"; ".file"
  std::string name, fullname, unit;        // ".name", ".fullname": of a comparison's baseline; ".unit": the metric
};

// The value of a key: one of those above, a path into the result ("system.world_size", "system.nodes.0.cpu"), or a
// setting as --set names it ("data.workers"). Texts stand without quotes; nothing where the result has no such key.
std::optional<std::string> value_of(const Subject& subject, const std::string& key);

// The member at a path of keys and indices; null where there is none.
const result::Json* member_at(const result::Json& root, const std::string& path);
std::string value_text(const result::Json& value);  // of a text its letters, else JSON

// Paths of all members below `value` that are no objects: "train.schedule.lr".
std::vector<std::string> leaves(const result::Json& value, const std::string& path = "");
// Keys that say what ran and where: the settings, processor, ranks and commit. ".config" stands for those that vary.
std::vector<std::string> config_keys(const result::Json& document);

// An expression of key:value terms: `system.world_size:2 -verdict:(smoke OR failed) .file:/xeon/`. Throws UsageError
// naming what was expected where.
class Filter {
 public:
  explicit Filter(const std::string& expression);
  bool matches(const Subject& subject) const { return test_(subject); }
  const std::vector<std::string>& keys() const { return keys_; }  // that the expression names

 private:
  std::function<bool(const Subject&)> test_;
  std::vector<std::string> keys_;
};

// A list of keys, each perhaps with an order: `train.reducer.kind@(blocking bucketed), system.world_size@num`.
// Values come in the order of their appearance, unless @alpha, @num or a list is given. A list leaves out subjects with
// another value. Throws UsageError as a filter does.
class Projection {
 public:
  Projection(const std::string& option, const std::string& expression);
  // What ".config" stands for; keys that the projection names are not taken twice.
  void expand_config(const std::vector<std::string>& keys);
  bool admits(const Subject& subject) const;
  // The values of the keys, "-" for those that are absent.
  std::vector<std::string> project(const Subject& subject) const;
  // In the order of the keys. `tuples` come in the order of their appearance.
  void sort(std::vector<std::vector<std::string>>& tuples) const;
  // The value of one key; of several, terms of a filter: "train.reducer.kind:bucketed system.world_size:2".
  std::string title(const std::vector<std::string>& tuple) const;
  std::vector<std::string> keys() const;

 private:
  struct Field {
    std::string key, order = "first";
    std::vector<std::string> fixed;
  };
  std::vector<Field> fields_;
};

}  // namespace ttt::reports
