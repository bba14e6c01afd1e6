// Settings as JSON: nested as they are declared, every field, resolved.
#pragma once

#include <map>
#include <string>

#include "settings/field_table.h"
#include "settings/json.h"

namespace ttt::result {

// {"solver": {"lr": 0.02, ...}, ...}
Json fields_json(const FieldTable& table);

// Settings that differ between two tables of one type: [{"key": "solver.lr", "default": 0.02, "value": 0.01}].
Json fields_changed(const FieldTable& defaults, const FieldTable& table);

// Nested settings by their keys: "solver.lr" -> 0.02.
std::map<std::string, Json> flat_settings(const Json& nested);

// SHA-256 (hex) of fields_json(table) on one line: equal exactly where all settings are equal.
std::string fields_sha256(const FieldTable& table);

template <FieldGroup S> Json fields_json(const S& settings) { return fields_json(field_table(settings)); }

}  // namespace ttt::result
