// Names of runs in tables. A value that a result does not hold is printed as "-".
#pragma once

#include <string>
#include <vector>

#include "result/run_record.h"

namespace ttt::reports {

// A value for readers: "kind eager, shapes dynamic". What is within another stands in brackets; a SHA-256 has twelve
// digits.
std::string plain_text(const result::Json& value, bool nested = false);
// A member as text; `missing` where it is not there.
std::string text_at(const result::Json& object, const char* key, const std::string& missing = "-");

std::string ranks_text(const result::RunRecord& record);   // "2 ranks"
std::string system_text(const result::RunRecord& record);  // machine and ranks
// "AMD EPYC 25/17, 2 cores": the label that the user gave, or nodes, processor, cores of a node and GPUs. Where the
// processor's name says no model, its family and model stand behind it.
std::string machine_text(const result::RunRecord& record);
std::string commit_text(const result::RunRecord& record);  // ten digits, and whether the tree had changes

// "A", "B", ... "Z", "AA", ...
std::string letters(std::size_t i);

// Names of files for plots: without ".json", and with as few of the folders as tell them apart.
std::vector<std::string> short_names(const std::vector<std::string>& files);

}  // namespace ttt::reports
