#include "reports/keys.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <utility>

#include "core/error.h"

namespace ttt::reports {
namespace {

using result::Json;
using Test = std::function<bool(const Subject&)>;

// Reads the words and signs of an expression.
class Reader {
 public:
  Reader(std::string option, const std::string& text) : option_(std::move(option)), text_(text) {}

  bool at_end() { return rest().empty(); }
  bool take(const std::string& sign) {
    if (!rest().starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  // A bare word that is this one; "ORDER" is not OR.
  bool sees_word(const std::string& word) {
    const std::string next = rest();
    return next.substr(0, next.find_first_of(" ():@,")) == word;
  }
  bool take_word(const std::string& word) { return sees_word(word) && take(word); }
  bool sees(const std::string& signs) { return !at_end() && signs.find(text_[at_]) != std::string::npos; }
  void expect(const std::string& sign, const std::string& what) {
    if (!take(sign)) fail(what);
  }
  std::string word(const std::string& what) {
    if (take("\"")) return until('"', what);
    if (at_end() || sees("-*\"():@,")) fail(what);
    const std::size_t end = text_.find_first_of(" ():@,", at_), begin = std::exchange(at_, std::min(end, text_.size()));
    return text_.substr(begin, at_ - begin);
  }
  // Up to the next `close` without a backslash before it.
  std::string until(char close, const std::string& what) {
    std::string out;
    for (; at_ < text_.size() && text_[at_] != close; ++at_) {
      const bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == close || close == '"');
      out += text_[escaped ? ++at_ : at_];
    }
    if (at_ == text_.size()) fail(what + " that ends with " + close);
    ++at_;
    return out;
  }
  [[noreturn]] void fail(const std::string& what) {
    throw UsageError(option_ + " '" + text_ + "': expected " + what +
                     (at_end() ? " at the end" : " at '" + rest() + "'") +
                     ". Write for example --filter 'system.world_size:2 -verdict:(smoke OR failed)', --row "
                     "'train.reducer.kind@(blocking bucketed)'.");
  }

 private:
  std::string rest() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return text_.substr(at_);
  }
  std::string option_, text_;
  std::size_t at_ = 0;
};

// expr = and {OR and}; and = match {[AND] match}; match = (expr) | -match | * | key:value | key:(value {OR value})
class FilterParser {
 public:
  FilterParser(Reader& in, std::vector<std::string>& keys) : in_(in), keys_(keys) {}

  Test any() {
    Test left = all();
    while (in_.take_word("OR")) left = [l = left, r = all()](const Subject& s) { return l(s) || r(s); };
    return left;
  }

 private:
  Test all() {
    Test left = match();
    for (;;) {
      const bool more = in_.take_word("AND");
      if (!more && (in_.at_end() || in_.sees(")") || in_.sees_word("OR"))) return left;
      left = [l = left, r = match()](const Subject& s) { return l(s) && r(s); };
    }
  }
  Test match() {
    if (in_.take("-")) return [inner = match()](const Subject& s) { return !inner(s); };
    if (in_.take("*")) return [](const Subject&) { return true; };
    if (in_.take("(")) {
      Test inner = any();
      in_.expect(")", "')'");
      return inner;
    }
    const std::string key = in_.word("a key, '(', '-' or '*'");
    keys_.push_back(key);
    in_.expect(":", "':' and a value");
    std::vector<std::function<bool(const std::string&)>> values;
    if (in_.take("(")) {
      do values.push_back(value());
      while (in_.take_word("OR"));
      in_.expect(")", "OR or ')'");
    } else values.push_back(value());
    return [key, values](const Subject& s) {
      const std::string text = value_of(s, key).value_or("");
      return std::any_of(values.begin(), values.end(), [&](const auto& test) { return test(text); });
    };
  }
  std::function<bool(const std::string&)> value() {
    if (!in_.take("/")) return [word = in_.word("a value")](const std::string& text) { return text == word; };
    const std::string pattern = in_.until('/', "a regular expression");
    try {
      return [regex = std::regex(pattern)](const std::string& text) { return std::regex_search(text, regex); };
    } catch (const std::regex_error&) { in_.fail("a regular expression instead of '" + pattern + "'"); }
  }

  Reader& in_;
  std::vector<std::string>& keys_;
};

template <class T> std::size_t index_of(const std::vector<T>& list, const T& value) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), value) - list.begin());
}

}  // namespace

std::optional<std::string> value_of(const Subject& s, const std::string& key) {
  for (const auto& [own, value] : {std::pair{".group", &s.group}, {".file", &s.file}, {".name", &s.name},
           {".fullname", &s.fullname}, {".unit", &s.unit}})
    if (key == own) return *value;
  const Json* value = member_at(*s.document, key);
  if (!value) value = member_at(*s.document, "recipe.settings." + key);
  return value ? std::optional(value_text(*value)) : std::nullopt;
}

const Json* member_at(const Json& root, const std::string& path) {
  const Json* at = &root;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    if (at->is_object() && at->contains(part)) at = &at->at(part);
    else if (std::size_t index = 0; at->is_array() &&
                                    std::from_chars(part.data(), part.data() + part.size(), index).ec == std::errc() &&
                                    index < at->size())
      at = &at->at(index);
    else return nullptr;
  }
  return at;
}

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<std::string> leaves(const Json& value, const std::string& path) {
  if (!value.is_object()) return {path};
  std::vector<std::string> out;
  for (const auto& [key, child] : value.items())
    for (std::string& leaf : leaves(child, path.empty() ? key : path + "." + key)) out.push_back(std::move(leaf));
  return out;
}

std::vector<std::string> config_keys(const Json& document) {
  std::vector<std::string> keys = leaves(document.at("recipe").at("settings"));
  keys.insert(keys.end(), {"system.nodes.0.cpu", "system.world_size", "provenance.commit"});
  return keys;
}

Filter::Filter(const std::string& expression) {
  Reader in("--filter", expression);
  test_ = FilterParser(in, keys_).any();
  if (!in.at_end()) in.fail("a term or the end");
}

Projection::Projection(const std::string& option, const std::string& expression) {
  Reader in(option, expression);
  do {
    Field field{.key = in.word("a key")};
    if (in.take("@")) {
      if (in.take("(")) {
        field.order = "fixed";
        while (!in.take(")")) field.fixed.push_back(in.word("a value or ')'"));
      } else field.order = in.word("alpha, num or a list of values");
      if (field.order != "fixed" && field.order != "alpha" && field.order != "num")
        in.fail("alpha, num or a list of values instead of '" + field.order + "'");
    }
    fields_.push_back(std::move(field));
    in.take(",");
  } while (!in.at_end());
}

void Projection::expand_config(const std::vector<std::string>& keys) {
  const std::vector<std::string> named = this->keys();
  const auto at = std::find_if(fields_.begin(), fields_.end(), [](const Field& f) { return f.key == ".config"; });
  if (at == fields_.end()) return;
  std::vector<Field> fields(fields_.begin(), at);
  for (const std::string& key : keys)
    if (index_of(named, key) == named.size()) fields.push_back({.key = key, .order = at->order, .fixed = at->fixed});
  fields.insert(fields.end(), at + 1, fields_.end());
  fields_ = std::move(fields);
}

bool Projection::admits(const Subject& subject) const {
  return std::all_of(fields_.begin(), fields_.end(), [&](const Field& f) {
    return f.order != "fixed" || index_of(f.fixed, value_of(subject, f.key).value_or("-")) < f.fixed.size();
  });
}

std::vector<std::string> Projection::project(const Subject& subject) const {
  std::vector<std::string> tuple;
  for (const Field& f : fields_) tuple.push_back(value_of(subject, f.key).value_or("-"));
  return tuple;
}

void Projection::sort(std::vector<std::vector<std::string>>& tuples) const {
  std::vector<std::vector<std::string>> seen(fields_.size());  // values of each key in the order of their appearance
  for (std::size_t i = 0; i < fields_.size(); ++i)
    for (const auto& t : tuples)
      if (index_of(seen[i], t[i]) == seen[i].size()) seen[i].push_back(t[i]);
  std::stable_sort(tuples.begin(), tuples.end(), [&](const auto& a, const auto& b) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (fields_[i].order == "alpha") return a[i] < b[i];
      if (fields_[i].order == "num") return std::strtod(a[i].c_str(), nullptr) < std::strtod(b[i].c_str(), nullptr);
      const auto& order = fields_[i].order == "fixed" ? fields_[i].fixed : seen[i];
      return index_of(order, a[i]) < index_of(order, b[i]);
    }
    return false;
  });
}

std::string Projection::title(const std::vector<std::string>& tuple) const {
  if (tuple.size() == 1) return tuple[0];
  std::string text;
  for (std::size_t i = 0; i < tuple.size(); ++i) text += (i ? " " : "") + fields_[i].key + ":" + tuple[i];
  return text;
}

std::vector<std::string> Projection::keys() const {
  std::vector<std::string> keys;
  for (const Field& f : fields_) keys.push_back(f.key);
  return keys;
}

}  // namespace ttt::reports
